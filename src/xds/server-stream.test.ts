import { describe, expect, test } from "vitest";
import { deltaDiscoveryResponse, discoveryResponse } from "../protobuf/wire/discovery.ts";
import type { XdsProtocol } from "./methods.ts";
import { createNameList } from "./name-list.ts";
import { DUE_CHANGES } from "./plan-answer.ts";
import { createResourceSet } from "./resource-set.ts";
import type { ResourceSet } from "./resource-source.ts";
import { createServerStream, type ServerStreamOptions } from "./server-stream.ts";
import { nextDelta, nextSotw } from "./subscription.ts";

const ANY = Buffer.from([0x0a, 1, 0x61]);

/** A server whose resources the test sets by name; their text is the version. */
function setUp(protocol: XdsProtocol, given: Partial<ServerStreamOptions<string>> = {}) {
  const stored = new Map([["a", "1"]]);
  const failures: unknown[] = [];
  const written: Buffer[] = [];
  let nonces = 0;
  const resources = (names: readonly string[]): ResourceSet =>
    createResourceSet(
      names.flatMap((name) => {
        const version = stored.get(name);
        return version === undefined ? [] : [{ name, version, any: ANY }];
      }),
    );
  const stream = createServerStream<string>({
    protocol,
    typeUrl: (type) => type,
    resources: (_type, { names }) => resources(names.list),
    policy: () => ({ isWholeState: false, skipsEmpty: true, isRemovable: () => true }),
    version: () => "v",
    nonce: () => {
      nonces += 1;
      return `n${nonces}`;
    },
    write: (_type, chunks) => void written.push(Buffer.concat(chunks)),
    onFailure: (_type, thrown) => failures.push(thrown),
    onBroken: (thrown) => failures.push(thrown),
    now: () => 0,
    ...given,
  });
  const rules = { needsNames: true, toNameList: createNameList };
  const request = (names: readonly string[], nonce = "") => {
    const before = stream.subscriptions.get("T");
    const decision =
      protocol === "sotw"
        ? nextSotw(before, { names, nonce, error: undefined }, rules)
        : nextDelta(before, { subscribe: names, unsubscribe: [], held: new Map(), nonce, error: undefined }, rules);
    return stream.apply("T", decision);
  };
  const sent = () =>
    written.splice(0).map((message) => {
      if (protocol === "sotw") return `${discoveryResponse.decode(message).resources.length}`;
      const { resources: changed, removedResources } = deltaDiscoveryResponse.decode(message);
      return [
        ...changed.map(({ name, version }) => `${name}${version}`),
        ...removedResources.map((n) => `-${n}`),
      ].join();
    });
  const change = (name: string, version: string | undefined) => {
    if (version === undefined) stored.delete(name);
    else stored.set(name, version);
    stream.mark("T", DUE_CHANGES);
    return stream.drain();
  };
  return { stream, request, change, sent, failures, resources };
}

describe.each(["sotw", "delta"] as const)("%s", (protocol) => {
  test("a request is answered, an ACK is not, a change is pushed once", async () => {
    const { request, change, sent } = setUp(protocol);
    await request(["a"]);
    expect(sent()).toHaveLength(1);
    await request(protocol === "sotw" ? ["a"] : [], "n1");
    await change("a", "1");
    expect(sent()).toEqual([]);
    await change("a", "2");
    await change("a", "2");
    expect(sent()).toHaveLength(1);
  });

  test("resources that have to be fetched are answered when they are there", async () => {
    let deliver: (set: ResourceSet) => void = () => undefined;
    const fetched = new Promise<ResourceSet>((resolve) => {
      deliver = resolve;
    });
    const { request, sent, resources } = setUp(protocol, { resources: () => fetched });
    const answered = request(["a"]);
    expect(sent()).toEqual([]);
    deliver(resources(["a"]));
    await answered;
    expect(sent()).toHaveLength(1);
  });

  test("names that come while others are fetched are fetched as well", async () => {
    const asked: string[] = [];
    const { request, sent, resources } = setUp(protocol, {
      resources: async (_type, { names }) => {
        asked.push(names.list.join());
        await Promise.resolve();
        return resources(names.list);
      },
    });
    await Promise.all([request(["a"]), request(["a", "b"])]);
    expect(asked).toEqual(["a", "a,b"]);
    expect(sent()).toHaveLength(1);
  });

  test("a failure to fetch is reported", async () => {
    const { request, failures } = setUp(protocol, { resources: () => Promise.reject(new Error("away")) });
    await request(["a"]);
    expect(failures).toEqual([new Error("away")]);
  });

  test("nothing is sent after the end", async () => {
    const { stream, request, sent } = setUp(protocol);
    stream.end();
    await request(["a"]);
    expect(sent()).toEqual([]);
  });
});

test("delta says which names do not exist, and what is removed later", async () => {
  const { request, change, sent } = setUp("delta");
  await request(["a", "x"]);
  await change("a", undefined);
  expect(sent()).toEqual(["a1,-x", "-a"]);
});
