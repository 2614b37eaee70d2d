import { effect, signal } from "@preact/signals";

const VIEWS = ["graph", "traffic", "workloads", "objects", "requests", "changes"] as const;
export type View = (typeof VIEWS)[number];

/** What the panel at the side shows. */
export type Selection =
  | { readonly kind: "none" }
  | { readonly kind: "node"; readonly id: string }
  | { readonly kind: "edge"; readonly id: string }
  | { readonly kind: "workload"; readonly id: string };

export const view = signal<View>("graph");
export const selection = signal<Selection>({ kind: "none" });
/** What the live tail of requests is asked for. */
export const requestFilter = signal<RequestFilter>({ workload: "", direction: "", to: "" });

export interface RequestFilter {
  readonly workload: string;
  readonly direction: "" | "inbound" | "outbound";
  readonly to: string;
}

export function select(next: Selection): void {
  selection.value = next;
}

export function show(next: View): void {
  view.value = next;
}

/** The view and the selection are the link's fragment: reloading, going back and sending a link lead to the same place. */
export function followAddress(): void {
  const read = () => {
    const [name = "", kind = "", ...id] = decodeURIComponent(location.hash.slice(1)).split("/");
    const known = VIEWS.find((candidate) => candidate === name);
    if (known !== undefined) view.value = known;
    if (kind === "node" || kind === "edge" || kind === "workload") selection.value = { kind, id: id.join("/") };
    else selection.value = { kind: "none" };
  };
  if (location.hash !== "") read();
  addEventListener("hashchange", read);
  effect(() => {
    const { value } = selection;
    const hash = `#${view.value}${value.kind === "none" ? "" : `/${value.kind}/${encodeURIComponent(value.id)}`}`;
    if (decodeURIComponent(location.hash) !== decodeURIComponent(hash)) history.replaceState(null, "", hash);
  });
}
