import { describe, expect, test } from "vitest";
import { HOST, type Match, OUTBOUND, patch, patched, TYPE } from "../../../test/support/mesh-model/patched-mesh.ts";

describe("clusters", () => {
  const inbound = "inbound|80||";
  const named = (cluster: Match, context = "ANY") =>
    patched(patch("CLUSTER", "MERGE", { context, cluster }, { connect_timeout: "1s" }));

  test.each<{ match: Match; context?: string; changed: string[] }>([
    { match: { name: OUTBOUND }, changed: [OUTBOUND] },
    { match: { subset: "v1" }, changed: [`outbound|80|v1|${HOST}`] },
    { match: { service: HOST }, changed: [OUTBOUND, `outbound|80|v1|${HOST}`, inbound] },
    { match: { service: HOST }, context: "SIDECAR_INBOUND", changed: [inbound] },
    { match: { portNumber: 80 }, context: "SIDECAR_OUTBOUND", changed: [OUTBOUND, `outbound|80|v1|${HOST}`] },
    { match: { name: "PassthroughCluster" }, context: "SIDECAR_OUTBOUND", changed: ["PassthroughCluster"] },
    { match: { name: "PassthroughCluster" }, context: "SIDECAR_INBOUND", changed: [] },
    { match: { portNumber: 81 }, changed: [] },
  ])("a match on $match ($context) finds $changed", ({ match, context, changed }) => {
    const { cluster } = named(match, context);
    const all = [OUTBOUND, `outbound|80|v1|${HOST}`, inbound, "PassthroughCluster"];
    expect(all.filter((name) => cluster(name)?.connectTimeout === "1s")).toEqual(changed);
  });

  test("are added once, removed, and keep their names to themselves", () => {
    const value = { name: "mine", type: "STATIC" };
    const { cluster, problems } = patched(
      patch("CLUSTER", "ADD", undefined, value),
      patch("CLUSTER", "ADD", undefined, { ...value, name: "BlackHoleCluster" }),
      patch("CLUSTER", "ADD", undefined, { type: "STATIC" }),
      patch("CLUSTER", "REMOVE", { cluster: { subset: "v1" } }),
    );
    // STATIC is zero.
    expect(cluster("mine")).toEqual({ name: "mine", type: "STATIC" });
    expect(cluster(`outbound|80|v1|${HOST}`)).toBeUndefined();
    expect(problems).toEqual([
      "refused-rule: EnvoyFilter default/f: configPatches[1]: the name BlackHoleCluster is taken",
      "refused-rule: EnvoyFilter default/f: configPatches[2]: a cluster needs a name",
    ]);
  });

  test("are not renamed: all of one patch would have one name", () => {
    const { cluster, problems } = patched(patch("CLUSTER", "MERGE", { cluster: { service: HOST } }, { name: "x" }));
    expect(cluster(OUTBOUND)).toBeDefined();
    expect(cluster("x")).toBeUndefined();
    expect(problems).toContainEqual(expect.stringContaining("what has a name cannot get another"));
  });

  test("a way of balancing spares clusters that have no choice, which a proxy would refuse; the rest of the patch counts", () => {
    const value = { lb_policy: "RANDOM", connect_timeout: "1s" };
    const { cluster, problems } = patched(patch("CLUSTER", "MERGE", undefined, value));
    expect(cluster(OUTBOUND)).toMatchObject({ lbPolicy: "RANDOM", connectTimeout: "1s" });
    expect(cluster("PassthroughCluster")).toMatchObject({ lbPolicy: "CLUSTER_PROVIDED", connectTimeout: "1s" });
    expect(problems).toEqual([]);
  });

  const tls = (name: string, type = "transport_sockets.tls.v3.UpstreamTlsContext") => ({
    transport_socket: { name, typed_config: { "@type": `${TYPE}.${type}`, max_session_keys: 5 } },
    connect_timeout: "1s",
  });
  test("TLS settings are merged into those of the socket with the name; the rest of the patch counts as well", () => {
    const { cluster } = patched(patch("CLUSTER", "MERGE", undefined, tls("envoy.transport_sockets.tls")));
    expect(cluster(OUTBOUND)).toMatchObject({
      connectTimeout: "1s",
      transportSocketMatches: [
        { transportSocket: { typedConfig: { maxSessionKeys: 5, commonTlsContext: {} } } },
        { name: "tlsMode-disabled" },
      ],
    });
    expect(cluster(inbound)).toMatchObject({ transportSocket: { typedConfig: { maxSessionKeys: 5 } } });
  });

  test("a socket that cannot go with those of the cluster is refused and reported once", () => {
    const { cluster, problems } = patched(patch("CLUSTER", "MERGE", { cluster: { service: HOST } }, tls("mine")));
    expect(cluster(OUTBOUND)).not.toHaveProperty("transportSocket");
    expect(problems).toEqual([
      expect.stringContaining("configPatches[0]: sockets are chosen by endpoint here, and none is a mine"),
    ]);
  });
});
