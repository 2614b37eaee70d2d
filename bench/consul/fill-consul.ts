import type { RealConsul } from "../../test/support/consul/start-consul.ts";

export interface CatalogSize {
  readonly services: number;
  readonly instances: number;
  readonly nodes: number;
}

/** As many as Consul takes in one transaction. */
const OPERATIONS = 64;
const AT_ONCE = 8;

/** Services on external nodes, each instance with a check of its own. */
export async function fillConsul(consul: RealConsul, { services, instances, nodes }: CatalogSize): Promise<void> {
  const operations: object[] = Array.from({ length: nodes }, (_, at) => ({
    Node: { Verb: "set", Node: { Node: `node-${at}`, Address: `10.30.${at >> 8}.${at & 255}` } },
  }));
  const rest: object[] = [];
  for (let index = 0; index < services * instances; index += 1) {
    const name = `svc-${Math.floor(index / instances)}`;
    rest.push(...instanceOperations(name, index, addressOf(index), nodes));
  }
  await commit(consul, operations);
  await commit(consul, rest);
}

/** An instance of the first service ends and another one begins, at this address. */
export async function replaceInstance(consul: RealConsul, { nodes }: CatalogSize, at: number, address: string) {
  const last = { Node: "node-0", Service: { ID: `svc-0-${replacementOf(at - 1)}`, Service: "svc-0" } };
  const ended = at === 0 ? [] : [{ Service: { Verb: "delete", ...last } }];
  await commit(consul, [...ended, ...instanceOperations("svc-0", replacementOf(at), address, nodes)]);
}

/** On the first node, and none of those that were there from the beginning. */
const replacementOf = (at: number) => `new-${at}`;

function instanceOperations(name: string, index: number | string, address: string, nodes: number): object[] {
  const [Node, ID] = [`node-${typeof index === "number" ? index % nodes : 0}`, `${name}-${index}`];
  const service = { ID, Service: name, Address: address, Port: 8080, Tags: ["version|v1"], Meta: { protocol: "http" } };
  const check = { Node, CheckID: `check:${ID}`, Name: "http", Status: "passing", ServiceID: ID };
  return [{ Service: { Verb: "set", Node, Service: service } }, { Check: { Verb: "set", Check: check } }];
}

function addressOf(index: number): string {
  return `10.${40 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
}

async function commit(consul: RealConsul, operations: readonly object[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(operations.length / OPERATIONS) }, (_, at) =>
    operations.slice(at * OPERATIONS, (at + 1) * OPERATIONS),
  );
  const worker = async () => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift())
      await consul.ask("PUT", "/v1/txn", batch);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
