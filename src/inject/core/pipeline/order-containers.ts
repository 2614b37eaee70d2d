import { InjectError } from "../../inject-error.ts";
import {
  annotationsOf,
  CORE_DUMP_CONTAINER,
  INIT_CONTAINER,
  PROXY_CONTAINER,
  VALIDATION_CONTAINER,
} from "../context.ts";
import { asObject, asText, type Json } from "../json.ts";
import { containersOf, findContainer, withSpec } from "./containers.ts";

/** Where the user wants the proxy among the other containers: first, last, before=NAME or after=NAME. */
const POSITION_ANNOTATION = "inject.pilot-agent.io/position";

type Position =
  | { readonly at: "first" | "last" }
  | { readonly at: "before" | "after"; readonly name: string; readonly text: string };

/**
 * Unless the pod says otherwise, the proxy is the last container, so that `kubectl exec` finds the application first, or the first one
 * where applications wait for it. Capture comes last of the init containers, so that the others have their network; with a native proxy
 * both come first, so that the others are in the mesh. All others keep their order.
 */
export function orderContainers(pod: Json, isProxyFirst: boolean): Json {
  const declared = parsePosition(annotationsOf(pod)[POSITION_ANNOTATION]);
  let init = containersOf(pod, "initContainers");
  const isNative = findContainer(init, PROXY_CONTAINER) !== undefined;
  const usual: Position = { at: isProxyFirst ? "first" : "last" };
  const position = isNative ? usual : (declared ?? usual);
  const containers = move(containersOf(pod, "containers"), [PROXY_CONTAINER], position);
  if (isNative) {
    // Captured traffic needs the proxy: what starts between the two would have no network.
    const together = [INIT_CONTAINER, VALIDATION_CONTAINER, PROXY_CONTAINER, CORE_DUMP_CONTAINER];
    init = move(init, together, declared ?? { at: "first" });
  } else {
    init = move(init, [VALIDATION_CONTAINER], { at: "first" });
    init = move(init, [INIT_CONTAINER, CORE_DUMP_CONTAINER], { at: "last" });
  }
  const hasInit = asObject(pod.spec).initContainers !== undefined;
  return withSpec(pod, { containers, ...(hasInit && { initContainers: init }) });
}

function move(containers: readonly Json[], names: readonly string[], position: Position): readonly Json[] {
  const moved = names.flatMap((name) => containers.filter((container) => container.name === name).slice(-1));
  const rest = containers.filter(({ name }) => !names.includes(asText(name)));
  // A pod without a proxy has nothing that could be moved, and need not have the other container.
  if (moved.length === 0) return rest;
  const at = placeOf(rest, position);
  return [...rest.slice(0, at), ...moved, ...rest.slice(at)];
}

function placeOf(rest: readonly Json[], position: Position): number {
  if (!("name" in position)) return position.at === "first" ? 0 : rest.length;
  const found = rest.findIndex(({ name }) => name === position.name);
  if (found !== -1) return position.at === "before" ? found : found + 1;
  const known = rest.map(({ name }) => asText(name)).join(", ") || "none";
  throw wrongPosition(position.text, `there is no container ${position.name} beside the proxy, there are: ${known}`);
}

function parsePosition(text: string | undefined): Position | undefined {
  if (text === undefined || text === "") return undefined;
  if (text === "first" || text === "last") return { at: text };
  const [, at, name = ""] = /^(before|after)=([-a-z0-9]+)$/.exec(text) ?? [];
  if (at === "before" || at === "after") return { at, name, text };
  throw wrongPosition(text, "allowed are first, last, before=CONTAINER and after=CONTAINER");
}

function wrongPosition(text: string, problem: string): InjectError {
  return new InjectError(
    "invalid-annotation",
    `invalid value '${text}' for annotation '${POSITION_ANNOTATION}': ${problem}`,
  );
}
