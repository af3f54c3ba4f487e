"""A model as an HTTP service: predictions, explanations with their audit, citations.

| request | answer |
|---|---|
| `POST /v1/models/NAME:predict` | KServe v1: {"predictions": [...]}, one for each of `instances` |
| `POST /v1/models/NAME:explain` | {"explanations": [...]}: relevances, audit, trust marks, warnings |
| `POST /v1/cite` | the sources of an answer, as `regard cite --json` prints them |
| `POST /v2/models/NAME/infer` | Open Inference Protocol v2: outputs `label`, `probability`, ..., `explanation` |
| `GET /v2/models/NAME`, `GET /v2`, `GET /v1/models` | metadata |
| `GET /v2/health/live`, `/v2/health/ready`, `/v2/models/NAME/ready` | health and readiness |
| `GET /metrics` | Prometheus text format |

One thread runs the model (`batch_worker`): requests with equal options that wait at the same time share its batches.
`request_bodies` checks requests, `explain_batch` computes, `audit_evidence` reads the measurements of an audit of
exactly these weights, `app` has the routes and `server` the sockets.
"""
