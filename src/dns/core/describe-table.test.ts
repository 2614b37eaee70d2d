import { expect, test } from "vitest";
import { proxyScope } from "./alternate-hosts.ts";
import { describeTable } from "./describe-table.ts";

const scope = proxyScope("ns1", "ns1.svc.cluster.local");

test("the dump is compact, sorted, without empty fields, and labels added names with the registry they come from", () => {
  const message = {
    table: {
      "b.ns2.svc.cluster.local": {
        ips: ["::1", "1.1.1.1"],
        registry: "Kubernetes",
        shortname: "b",
        namespace: "ns2",
        altHosts: [],
      },
      "A.example": {
        ips: ["2001:DB8::1", "2.2.2.2", "bogus"],
        registry: "External",
        shortname: "",
        namespace: "",
        altHosts: [],
      },
    },
  };
  expect(describeTable(message, scope, true)).toBe(
    '{"table":{' +
      '"A.example":{"ips":["2001:DB8::1","2.2.2.2","bogus"],"registry":"External"},' +
      '"A.example.":{"ips":["2.2.2.2","2001:db8::1"],"registry":"External"},' +
      '"b.ns2.":{"ips":["1.1.1.1","::1"],"registry":"Kubernetes"},' +
      '"b.ns2.svc.":{"ips":["1.1.1.1","::1"],"registry":"Kubernetes"},' +
      '"b.ns2.svc.cluster.local":{"ips":["::1","1.1.1.1"],"registry":"Kubernetes","shortname":"b","namespace":"ns2"},' +
      '"b.ns2.svc.cluster.local.":{"ips":["1.1.1.1","::1"],"registry":"Kubernetes"}}}',
  );
});

test("an entry without usable address is shown as received and adds no names", () => {
  const message = { table: { "x.y": { ips: ["172.217.0.0/16"], altHosts: ["z"] } } };
  expect(describeTable(message, scope, true)).toBe('{"table":{"x.y":{"ips":["172.217.0.0/16"],"altHosts":["z"]}}}');
});

test("an empty table is an empty object", () => {
  expect(describeTable({ table: {} }, scope, true)).toBe("{}");
});

test("keys that look like numbers are sorted as text", () => {
  const message = { table: { b: { ips: ["1.1.1.1"] }, 10: { ips: ["1.1.1.1"] } } };
  expect(Object.keys(JSON.parse(describeTable(message, scope, true)).table)).toHaveLength(4);
  expect(describeTable(message, scope, true).indexOf('"10"')).toBeLessThan(
    describeTable(message, scope, true).indexOf('"b"'),
  );
});
