"""Capture engine: every attention of a forward pass, for any module. torch only; knows no Example.

Start in `capture_call.py`. A pass goes through five steps:

1. Intercept (`tap`, `operations`, `attention_interface`, `declared_sites`): every torch function of the call is seen,
   and each softmax or fused attention among them becomes an event.
2. Follow (`provenance`, `tensor_facts`, `layout`, `blocks`): facts about tensors travel from operation to operation
   until it is clear which softmax is attention, and which axis is head, query and key.
3. Keep or change (`recorder`, `rewriter`, `editing`, `sdpa`): a site keeps what its weights follow from, or computes
   with edited weights; `replay` and `replay_cache` skip what lies below the lowest edited site.
4. Build and prove (`build_sites`, `site_kind`, `site_attention`, `blockwise`, `auditor`, `self_check`): events become
   sites; the auditor finds any attention that bypassed the tap, the self-check recomputes sampled rows.
5. Remember (`capture_plan`, `pass_history`): the plan of a proved pass makes later passes light; anything that is not
   in the plan brings the full pass back.

Beside these: `row_capture` keeps some rows of long inputs (`row_attention`), `stitch_steps` joins the steps of
`generate()`, `attention_gradients` differentiates with respect to weights, and `monitor/` watches attention in training
and in production.

When a capture fails, the error names the module. Then look at what rejected it: an unknown operation belongs into
`operations`, lost facts into `provenance`, a wrong axis into `layout`, attention in windows into `blocks`, a wrong kind
of site into `site_kind`.
"""
