import { describe, expect, test } from "vitest";
import { patch, patched, TYPE } from "../../../test/support/mesh-model/patched-mesh.ts";

describe("listeners and chains", () => {
  const chain = {
    filters: [
      {
        name: "x",
        typed_config: {
          "@type": `${TYPE}.filters.network.tcp_proxy.v3.TcpProxy`,
          stat_prefix: "x",
          cluster: "BlackHoleCluster",
        },
      },
    ],
  };
  const added = {
    name: "extra",
    address: { socket_address: { address: "127.0.0.1", port_value: 7777 } },
    filter_chains: [chain],
  };

  test("listeners are merged, removed and added", () => {
    const { listener } = patched(
      patch("LISTENER", "MERGE", { listener: { portNumber: 80 } }, { tcp_backlog_size: 7 }),
      patch("LISTENER", "REMOVE", { listener: { name: "virtualInbound" } }),
      patch("LISTENER", "INSERT_FIRST", undefined, added),
    );
    expect(listener("0.0.0.0_80")).toMatchObject({ tcpBacklogSize: 7 });
    expect(listener("virtualInbound")).toBeUndefined();
    expect(listener("extra")).toMatchObject({ address: { socketAddress: { portValue: 7777 } } });
  });

  test.each([
    { value: { ...added, name: "virtualOutbound" }, says: "the name virtualOutbound is taken" },
    { value: { ...added, name: "" }, says: "a listener needs a name" },
    {
      value: { ...added, address: { socket_address: { address: "0.0.0.0", port_value: 80 } } },
      says: "listener 0.0.0.0_80 has the address 0.0.0.0:80",
    },
  ])("one that proxies would refuse is not added: $says", ({ value, says }) => {
    expect(patched(patch("LISTENER", "ADD", undefined, value)).problems).toEqual([expect.stringContaining(says)]);
  });

  test("listeners are not renamed", () => {
    const { listener, problems } = patched(
      patch("LISTENER", "MERGE", { listener: { name: "0.0.0.0_80" } }, { name: "x", tcp_backlog_size: 7 }),
    );
    expect(listener("0.0.0.0_80")).not.toHaveProperty("tcpBacklogSize");
    expect(problems).toEqual([expect.stringContaining("what has a name cannot get another")]);
  });

  test("chains are merged, removed and added; a listener without any is left out", () => {
    const out = { context: "SIDECAR_OUTBOUND" };
    const own80 = { ...out, listener: { name: "0.0.0.0_80" } };
    const { listener, problems } = patched(
      patch(
        "FILTER_CHAIN",
        "MERGE",
        { listener: { filterChain: { name: "0.0.0.0_80" } } },
        { transport_socket_connect_timeout: "3s" },
      ),
      patch("FILTER_CHAIN", "ADD", own80, { name: "more", ...chain }),
      patch("FILTER_CHAIN", "ADD", own80, { name: "twin", ...chain }),
      patch("FILTER_CHAIN", "REMOVE", { ...out, listener: { name: "virtualOutbound" } }),
      patch("FILTER_CHAIN", "REMOVE", { ...out, listener: { filterChain: { name: "PassthroughFilterChain" } } }),
    );
    const own = listener("virtualInbound")?.filterChains?.filter(({ name }) => name === "0.0.0.0_80") ?? [];
    expect(own.map(({ transportSocketConnectTimeout }) => transportSocketConnectTimeout)).toEqual(own.map(() => "3s"));
    expect(listener("0.0.0.0_80")?.filterChains?.at(-1)?.name).toBe("more");
    expect(listener("0.0.0.0_80")).not.toHaveProperty("defaultFilterChain");
    expect(listener("virtualOutbound")).toBeUndefined();
    expect(problems).toEqual([
      expect.stringContaining("configPatches[2]: another chain has the same match"),
      expect.stringContaining("configPatches[3]: no chain is left: the listener is left out"),
    ]);
  });

  test("a chain for a port does not come beside one of the same match where redirected connections arrive", () => {
    const { listener, problems } = patched(
      patch(
        "FILTER_CHAIN",
        "ADD",
        { context: "SIDECAR_OUTBOUND", listener: { portNumber: 80 } },
        { name: "more", ...chain },
      ),
    );
    const names = (name: string) => listener(name)?.filterChains?.map((one) => one.name);
    expect(names("0.0.0.0_80")).toContain("more");
    expect(names("virtualOutbound")).not.toContain("more");
    expect(problems).toEqual([]);
  });

  test("TLS settings of a chain are merged", () => {
    const value = {
      transport_socket: {
        name: "envoy.transport_sockets.tls",
        typed_config: {
          "@type": `${TYPE}.transport_sockets.tls.v3.DownstreamTlsContext`,
          disable_stateless_session_resumption: true,
        },
      },
    };
    const { listener } = patched(
      patch(
        "FILTER_CHAIN",
        "MERGE",
        { listener: { portNumber: 80, filterChain: { transportProtocol: "tls" } } },
        value,
      ),
    );
    const ending = listener("virtualInbound")?.filterChains?.find(
      ({ name, transportSocket }) => name === "0.0.0.0_80" && transportSocket,
    );
    expect(ending?.transportSocket?.typedConfig).toMatchObject({
      disableStatelessSessionResumption: true,
      requireClientCertificate: true,
    });
  });
});
