import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { bundleDnsServer } from "../support/dns/worker-bundle.ts";
import { needs } from "../support/needs.ts";
import { createNetnsPair, type Netns } from "../support/netns/netns.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("root", "netns", "dig", "python3"));

/** Prints what the server says; the rest of its life it is asked from outside. */
const SERVER_SCRIPT = `
const [url, resolvConfPath, listen] = process.argv.slice(1);
const { startDnsServer } = await import(url);
const say = (message, fields = {}) => console.log(message, JSON.stringify(fields));
const log = { enabled: () => false, debug() {}, info: say, warn: say, error: say, fatal: say };
const counter = { inc() {}, observe() {} };
const metrics = { requests: counter, upstreamRequests: counter, upstreamFailures: counter, upstreamSeconds: counter };
const server = await startDnsServer({
  listen, resolvConfPath, proxyNamespace: "ns1", proxyDomain: "ns1.svc.cluster.local", log, metrics,
  limits: { addressPollMs: 100 }, threads: 2, upstreamPort: 1053,
});
server.updateNameTable({ table: { "www.mesh.example": { ips: ["9.9.9.9"] } } });
say("served");
`;

let bundle: Awaited<ReturnType<typeof bundleDnsServer>>;
beforeAll(async () => {
  bundle = await bundleDnsServer();
});
afterAll(() => bundle[Symbol.asyncDispose]());

async function startServer(pod: Netns, listen: string, nameserver = "127.0.0.1") {
  await writeFile(bundle.resolvConfPath, `nameserver ${nameserver}\n`);
  const script = ["--input-type=module", "-e", SERVER_SCRIPT, bundle.url.href, bundle.resolvConfPath, listen];
  const child: ChildProcess = pod.spawn(process.execPath, script);
  let said = "";
  child.stdout?.on("data", (text) => {
    said += text;
  });
  child.stderr?.on("data", (text) => {
    said += text;
  });
  await until(() => expect(said).toContain("served"));
  return {
    said: () => said,
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** What a client on the other machine gets; it takes answers from the asked address only. */
async function answerAt(remote: Netns, address: string, transport: "+notcp" | "+tcp" = "+notcp"): Promise<string> {
  const words = [`@${address}`, "-p", "1053", "+time=1", "+tries=1", transport, "+short", "www.mesh.example", "A"];
  const { stdout } = await remote.exec("dig", words);
  return stdout.trim();
}

describe.each([":1053", "0.0.0.0:1053"])("a server on '%s'", (listen) => {
  test("serves addresses that come later, from the one that was asked, and lets those go that leave", async () => {
    await using both = await createNetnsPair();
    const { pod, remote } = both;
    await using server = await startServer(pod, listen);
    await until(async () => expect(await answerAt(remote, "10.0.0.10")).toBe("9.9.9.9"));
    for (const round of ["first", "again"]) {
      await pod.must("ip addr add 10.0.0.11/24 dev eth0");
      // The kernel by itself would answer from 10.0.0.10, which dig refuses.
      await until(async () => expect(await answerAt(remote, "10.0.0.11"), round).toBe("9.9.9.9"));
      await until(async () => expect(await answerAt(remote, "10.0.0.11", "+tcp")).toBe("9.9.9.9"));
      await pod.must("ip addr del 10.0.0.11/24 dev eth0");
      const gone = "Local udp DNS server on 10.0.0.11:1053 ended: the address is gone";
      await until(() => expect(server.said().split(gone)).toHaveLength(round === "first" ? 2 : 3));
    }
    await until(async () => expect(await answerAt(remote, "10.0.0.10")).toBe("9.9.9.9"));
  });
});

test("an interface that comes with addresses of its own is served", async () => {
  await using both = await createNetnsPair();
  await using server = await startServer(both.pod, ":1053");
  await both.pod.must("ip link add extra type veth peer name extra-peer");
  await both.pod.must("ip addr add 192.168.77.1/24 dev extra");
  await both.pod.must("ip addr add fd77::1/64 dev extra nodad");
  await both.pod.must("ip link set extra-peer up");
  await both.pod.must("ip link set extra up");
  for (const address of ["192.168.77.1", "fd77::1"]) {
    await until(async () => expect(await answerAt(both.pod, address)).toBe("9.9.9.9"));
  }
  expect(server.said()).not.toContain("not served");
});

test("an IPv6 address that is still checked for a double fails no start and is served when it is usable", async () => {
  await using both = await createNetnsPair();
  // As long as the test: its end must not be a matter of luck.
  await both.pod.must("sysctl -qw net.ipv6.conf.eth0.dad_transmits=1000");
  await both.pod.must("ip addr add fd00::20/64 dev eth0");
  await using server = await startServer(both.pod, ":1053");
  expect(server.said()).not.toContain("fd00::20");
  expect(await both.pod.must("ip -6 addr show dev eth0 tentative")).toContain("fd00::20");
  await both.pod.must("ip addr del fd00::20/64 dev eth0");
  await both.pod.must("ip addr add fd00::20/64 dev eth0 nodad");
  await until(async () => expect(await answerAt(both.remote, "fd00::20")).toBe("9.9.9.9"));
});

test("an address whose port another party has is reported and the others are served", async () => {
  await using both = await createNetnsPair();
  const { pod, remote } = both;
  await using server = await startServer(pod, ":1053");
  // Takes the port of an address before the machine has it.
  await pod.must("sysctl -qw net.ipv4.ip_nonlocal_bind=1");
  const squatter = pod.spawn("python3", [
    "-c",
    "import socket,sys\ns=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)\ns.bind(('10.0.0.12',1053))\nprint('bound',flush=True)\nsys.stdin.read()",
  ]);
  try {
    await once(squatter.stdout ?? squatter, "data");
    await pod.must("ip addr add 10.0.0.12/24 dev eth0");
    await pod.must("ip addr add 10.0.0.13/24 dev eth0");
    await until(async () => expect(await answerAt(remote, "10.0.0.13")).toBe("9.9.9.9"));
    await until(() =>
      expect(server.said()).toContain(
        "an address of this machine is not served: listen udp 10.0.0.12:1053: bind: address already in use",
      ),
    );
  } finally {
    const exited = once(squatter, "exit");
    squatter.kill("SIGKILL");
    await exited;
  }
  await until(async () => expect(await answerAt(remote, "10.0.0.12")).toBe("9.9.9.9"));
});

test("a nameserver that becomes one of our own addresses is left out", async () => {
  await using both = await createNetnsPair();
  await using server = await startServer(both.pod, ":1053", "10.0.0.14");
  expect(server.said()).not.toContain("left out");
  await both.pod.must("ip addr add 10.0.0.14/24 dev eth0");
  const line = 'nameserver is this DNS proxy itself and is left out {"server":"10.0.0.14"}';
  await until(() => expect(server.said()).toContain(line));
});
