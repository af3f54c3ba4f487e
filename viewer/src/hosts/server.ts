/** The local app: the token comes in the fragment of the address, leaves it at once, and goes along as a header. */

import { type Hello, type Live, packSource } from "../source.ts";
import { type Translate, translator } from "../words.ts";
import { mount } from "./mount.ts";

export async function mountApp(element: HTMLElement): Promise<void> {
  const token =
    new URLSearchParams(location.hash.slice(1)).get("token") ?? sessionStorage.getItem("regard-token") ?? "";
  sessionStorage.setItem("regard-token", token); // survives a reload of this tab, nothing else
  history.replaceState(null, "", location.pathname);
  let t = translator({ app_refused: element.dataset["refused"] }); // the page's words, until the host sends its own
  const headers = { Authorization: `Bearer ${token}` };
  const answer = async (response: Response): Promise<Response> => {
    if (response.ok) return response;
    const said = (await response.json().catch(() => null)) as { error?: { said?: string } } | null;
    throw new Error(said?.error?.said ?? t("app_refused", { status: response.status }));
  };
  const call = async (op: string, body: Record<string, unknown>): Promise<unknown> => {
    const sent = {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    };
    return (await answer(await fetch(`/api/${op}`, sent))).json();
  };
  const chunk = async (pack: string, id: string): Promise<ArrayBuffer> =>
    (await answer(await fetch(`/api/chunk/${encodeURIComponent(pack)}/${id}`, { headers }))).arrayBuffer();
  try {
    const hello = (await call("hello", {})) as Hello;
    t = translator(hello.dictionary);
    const live: Live = { hello, pack: hello.pack ?? "", call, chunk };
    await start(element, live, { header: true, page: true });
  } catch (error) {
    const line = document.createElement("p");
    line.setAttribute("role", "alert");
    line.textContent = error instanceof Error ? error.message : String(error);
    element.replaceChildren(line);
  }
}

/** The pack of the host, or an empty one that waits for a text. */
export async function start(element: HTMLElement, live: Live, settings: Record<string, unknown> = {}): Promise<void> {
  const { hello } = live;
  const t = translator(hello.dictionary);
  const source = hello.pack
    ? await packSource(live, hello.pack)
    : { manifest: empty(hello), chunk: () => nothing(t), live };
  mount(element, source, { dictionary: hello.dictionary ?? {}, ...settings });
}

const nothing = (t: Translate): Promise<ArrayBuffer> => Promise.reject(new Error(t("no_pack")));

function empty(hello: Hello) {
  return {
    title: hello.model,
    model: hello.model,
    task: "",
    labels: [],
    caveat: "",
    verdict: null,
    examples: [],
    atlas: null,
    pairs: [],
    left_out: [],
    notes: [],
    format: "regard-pack" as const,
    version: 1 as const,
  };
}
