import { expect, test } from "vitest";
import { pairFile } from "../test/support/mesh/pair.ts";
import { leftovers, startMeshRun } from "../test/support/mesh/run.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { until } from "../test/support/wait/until.ts";

const WITHOUT_ENVOY = { ENVOY_BIN: "/nonexistent/envoy" };

interface Page {
  readonly catalogue: { readonly version?: string; readonly caller?: string; readonly error?: string };
  readonly price: { readonly servedBy?: string };
}

async function page(url: string): Promise<Page> {
  return JSON.parse((await fetchAnswer(`${url}/`)).body) as Page;
}

async function versions(url: string, requests: number): Promise<Readonly<Record<string, number>>> {
  const seen: Record<string, number> = {};
  for (let asked = 0; asked < requests; asked += 1) {
    const { version = "error" } = (await page(url)).catalogue;
    seen[version] = (seen[version] ?? 0) + 1;
  }
  return seen;
}

test("without an Envoy to be had the demo runs as gRPC programs with agents, and says so", async () => {
  await using mesh = startMeshRun({ env: WITHOUT_ENVOY });
  await mesh.untilUp();
  expect(mesh.output()).toContain("there is no Envoy to be had: Envoy at /nonexistent/envoy");
  expect(mesh.output()).toMatch(/6 workloads with an agent each and no Envoy/);
  const { entries, workloads } = await mesh.status();
  const url = entries.front ?? "";
  await until(async () => (await page(url)).catalogue.error);
  const first = await page(url);
  expect(first.catalogue).toMatchObject({ version: "v1", caller: "spiffe://cluster.local/ns/shop/sa/front" });
  expect(first.price).toMatchObject({ servedBy: "prices" });
  // Its server asks for a certificate of the mesh.
  await expect(
    fetchAnswer(`http://${workloads.find(({ name }) => name === "catalogue-v1")?.address}:8480/`),
  ).rejects.toThrow();

  await mesh.cli("apply", "-f", `${mesh.stateFolder}/try/split-80-20.yaml`);
  await until(async () => ((await versions(url, 20)).v2 === undefined ? "not shifted yet" : undefined));
  const seen = await versions(url, 300);
  // Five standard deviations of 300 draws at one in five.
  expect(Math.abs((seen.v2 ?? 0) - 60)).toBeLessThan(35);
  expect((seen.v1 ?? 0) + (seen.v2 ?? 0)).toBe(300);

  await mesh.cli("stop", "control-plane");
  await mesh.cli("kill", "front/agent");
  expect(await versions(url, 50)).not.toHaveProperty("error");
  await mesh.cli("start", "control-plane");
  await until(async () => ((await mesh.cli("status")).code === 0 ? undefined : "not ready again"));
  await mesh.cli("apply", "--delete", "-f", `${mesh.stateFolder}/try/split-80-20.yaml`);
  await until(async () => ((await versions(url, 30)).v1 === 30 ? undefined : "not taken back yet"));

  const state = mesh.state();
  mesh.child.kill("SIGINT");
  expect(await mesh.exited).toBe(0);
  expect(await leftovers(state)).toEqual([]);
});

test("a mesh of one's own applications needs Envoy, and the reason why there is none is reported", async () => {
  await using mesh = startMeshRun({ file: pairFile({ port: 8482 }), env: WITHOUT_ENVOY });
  expect(await mesh.exited).toBe(1);
  expect(mesh.output()).toBe("Error: Envoy at /nonexistent/envoy (from ENVOY_BIN) is missing or not executable\n");
});
