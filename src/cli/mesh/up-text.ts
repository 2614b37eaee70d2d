import { entryAddresses, type Mesh, type MeshPlan, table } from "../../mesh/index.ts";

/** A command of `mesh` as its user can type it. */
export type MeshCall = (words: string) => string;

/** What `mesh up` prints when everything runs: what there is, where to look. */
export function runningText(
  plan: MeshPlan,
  given: {
    readonly state: string;
    readonly folder: string;
    readonly call: MeshCall;
    readonly hasConsole: boolean;
    readonly mesh: Pick<Mesh, "doors" | "entries">;
  },
): string {
  const { state, folder, call, hasConsole, mesh } = given;
  const { doors } = mesh;
  const local = mesh.entries();
  const { controlPlane, workloads } = plan;
  const each = workloads.length === 1 ? "" : " each";
  const what = plan.proxyless ? `an agent${each} and no Envoy` : `an agent and an Envoy${each}`;
  const rows = workloads.map((workload) => {
    const { name, address, listens } = workload;
    const where = listens.map(({ port }, index) => (index === 0 ? `${address}:${port}` : String(port))).join(", ");
    const admin = workload.kind === "proxyless" ? "no Envoy" : `${doors.admin(workload)}/`;
    return [`  ${name}`, where || "only calls", ...(plan.proxyless ? [] : [admin])];
  });
  const heads = plan.proxyless ? ["  WORKLOAD", "LISTENS ON"] : ["  WORKLOAD", "ITS SIDECAR", "ENVOY'S ADMIN PAGES"];
  const entries = Object.entries(entryAddresses(plan)).map(
    ([name, url]) => `  ${name}: ${[url, local[name] ?? []].flat().map(withPath).join(" or ")}\n`,
  );
  return `
mesh ${plan.name} is ${state}: ${workloads.length} ${workloads.length === 1 ? "workload" : "workloads"} with ${what}, control plane on ${controlPlane.host}:${controlPlane.ports.secure}

${table([heads, ...rows])}${entries.length > 0 ? "\nFrom outside the mesh:\n" : ""}${entries.join("")}
Where to look:
${hasConsole ? `  ${call("console")}\n` : ""}  ${call("status")}
  ${call("logs -f")}
  ${doors.controlPlane()}/debug (the control plane's view)
  ${folder}
`;
}

/** Ready for a browser; the others have no paths. */
function withPath(url: string): string {
  return url.startsWith("http:") ? `${url}/` : url;
}

/** The three things to try with the demo shop. */
export function triesText(
  plan: MeshPlan,
  { tries, call }: { readonly tries: string; readonly call: MeshCall },
): string {
  const [url = ""] = Object.values(entryAddresses(plan));
  const others = plan.proxyless ? proxylessTries(call) : sidecarTries(tries, call);
  return `
Three things to try (watch them with: ${call("logs -f load/app")}):
  1. send a fifth of the requests to version 2 of the catalogue, and look at the page a few times
       ${call(`apply -f ${tries}/split-80-20.yaml`)}
       curl -s ${url}/
${others}
`;
}

function sidecarTries(tries: string, call: MeshCall): string {
  return `  2. let every second call to the stock service fail
       ${call(`apply -f ${tries}/fault.yaml`)}
  3. kill the Envoy of the front, and see it come back
       ${call("kill front/envoy")}; ${call("status")}
`;
}

function proxylessTries(call: MeshCall): string {
  return `  2. stop the control plane: the page goes on, and mesh start control-plane brings it back
       ${call("stop control-plane")}
  3. kill the agent of the front, and see it come back
       ${call("kill front/agent")}; ${call("status")}
`;
}
