import { entryAddresses, type MeshPlan, table } from "../../mesh/index.ts";

/** What `mesh up` prints when everything runs: what there is, where to look. */
export function runningText(
  plan: MeshPlan,
  { state, folder, calledAs }: { readonly state: string; readonly folder: string; readonly calledAs: string },
): string {
  const { controlPlane, workloads } = plan;
  const what = plan.proxyless ? "an agent each and no Envoy" : "an agent and an Envoy each";
  const rows = workloads.map(({ name, service, address, app, ports }) => {
    const port = app === undefined ? "" : `:${plan.services.find((each) => each.name === service)?.port}`;
    const admin =
      plan.isolation === "none" && !plan.proxyless ? `Envoy's admin page http://127.0.0.1:${ports.admin}` : "";
    return [`  ${name}`, app === undefined ? "only calls" : `${address}${port}`, admin];
  });
  const entries = Object.entries(entryAddresses(plan)).map(([name, url]) => `  ${name}: ${url}/\n`);
  return `
mesh ${plan.name} is ${state}: ${workloads.length} workloads with ${what}, control plane on ${controlPlane.host}:${controlPlane.ports.secure}

${table([["  WORKLOAD", plan.proxyless ? "LISTENS ON" : "ITS SIDECAR", ""], ...rows])}${entries.length > 0 ? "\nFrom outside the mesh:\n" : ""}${entries.join("")}
Where to look:
  ${calledAs} mesh status
  ${calledAs} mesh logs -f
  ${folder}
`;
}

/** The three things to try with the demo shop. */
export function triesText(
  plan: MeshPlan,
  { tries, calledAs }: { readonly tries: string; readonly calledAs: string },
): string {
  const [url = ""] = Object.values(entryAddresses(plan));
  const others = plan.proxyless ? proxylessTries(calledAs) : sidecarTries(tries, calledAs);
  return `
Three things to try (watch them with: ${calledAs} mesh logs -f load):
  1. send a fifth of the requests to version 2 of the catalogue, and look at the page a few times
       ${calledAs} mesh apply -f ${tries}/split-80-20.yaml
       curl -s ${url}/
${others}
`;
}

function sidecarTries(tries: string, calledAs: string): string {
  return `  2. let every second call to the stock service fail
       ${calledAs} mesh apply -f ${tries}/fault.yaml
  3. kill the Envoy of the front, and see it come back
       ${calledAs} mesh kill front/envoy; ${calledAs} mesh status
`;
}

function proxylessTries(calledAs: string): string {
  return `  2. stop the control plane: the page goes on, and mesh start control-plane brings it back
       ${calledAs} mesh stop control-plane
  3. kill the agent of the front, and see it come back
       ${calledAs} mesh kill front/agent; ${calledAs} mesh status
`;
}
