import { createNetns, type Netns } from "../netns/netns.ts";

/** The control plane's place, and the router of all workloads. */
const FABRIC_ADDRESS = "10.10.0.1";

/** A network of namespaces joined by a bridge in one of them; the machine's own network is not part of it. */
export interface Fabric extends AsyncDisposable {
  readonly netns: Netns;
  /** A namespace of its own with this address, one hop away from all others. */
  attach(address: string): Promise<Netns>;
}

/** `names`: further lines of /etc/hosts, from which everything in the network resolves its names. */
export async function createFabric(hosts: string, names = ""): Promise<Fabric> {
  const attached: Netns[] = [];
  const etc = { hosts: `127.0.0.1 localhost\n${FABRIC_ADDRESS} ${hosts}\n${names}` };
  const netns = await createNetns({ isBare: true, etc });
  const dispose = async () => {
    for (const each of attached) await each[Symbol.asyncDispose]();
    await netns[Symbol.asyncDispose]();
  };
  try {
    await netns.must("ip link add br0 type bridge");
    await netns.must(`ip addr add ${FABRIC_ADDRESS}/16 dev br0`);
    await netns.must("ip link set br0 up");
  } catch (thrown) {
    await dispose();
    throw thrown;
  }
  return {
    netns,
    async attach(address) {
      const pod = await createNetns({ isBare: true, etc });
      attached.push(pod);
      const cable = `pod${attached.length}`;
      await netns.must(`ip link add ${cable} type veth peer name eth0 netns ${pod.name}`);
      await netns.must(`ip link set ${cable} master br0 up`);
      await pod.must(`ip addr add ${address}/16 dev eth0`);
      await pod.must("ip link set eth0 up");
      // No machine has the service addresses; capture takes connections to them before they would leave.
      await pod.must(`ip route add default via ${FABRIC_ADDRESS}`);
      return pod;
    },
    [Symbol.asyncDispose]: dispose,
  };
}
