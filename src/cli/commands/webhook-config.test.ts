import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runWords } from "../../../test/support/cli/run-words.ts";
import { parseGoYaml } from "../../files/yaml/parse-go-yaml.ts";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import { COMMANDS } from "./list.ts";

interface Entry {
  readonly name: string;
  readonly namespaceSelector: object;
  readonly objectSelector: object;
  readonly clientConfig: object;
}

interface Configuration {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly webhooks: readonly Entry[];
}

const run = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runWords({ words: ["kube-inject", "webhook-config", ...words], commands: COMMANDS, env });

async function printed(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Configuration> {
  const { code, stdout } = await run(words, env);
  expect(code).toBe(0);
  return parseGoYaml(stdout) as Configuration;
}

const entryNames = ({ webhooks }: Configuration) =>
  webhooks.map(({ name }) => name.replace("sidecar-injector.istio.io", ""));

test("without flags it is what the plain manifests install, but for the labels of their tools", async () => {
  const manifests = readFileSync(join(import.meta.dirname, "../../../deploy/manifests/2-istiod.yaml"), "utf8");
  const documents = splitDocuments(manifests).map(({ text }) => parseGoYaml(text) as Configuration | null);
  const installed = documents.find((document) => document?.kind === "MutatingWebhookConfiguration");
  const own = await printed([]);
  expect(own.webhooks).toEqual(installed?.webhooks);
  expect({ ...installed?.metadata.labels, ...own.metadata.labels, release: "istiod" }).toEqual(
    installed?.metadata.labels,
  );
});

test.each([
  { words: [], name: "istio-sidecar-injector", entries: ["rev.namespace.", "rev.object.", "namespace.", "object."] },
  {
    words: ["--revision", "canary"],
    name: "istio-sidecar-injector-canary",
    entries: ["rev.namespace.", "rev.object."],
  },
  {
    words: ["--revision", "canary", "--tag", "default", "-i", "mesh", "--enableNamespacesByDefault"],
    name: "istio-revision-tag-default-mesh",
    entries: ["rev.namespace.", "rev.object.", "namespace.", "object.", "auto."],
  },
])("the configuration of $words is $name with the entries $entries", async ({ words, name, entries }) => {
  const configuration = await printed(words);
  expect(configuration.metadata.name).toBe(name);
  expect(entryNames(configuration)).toEqual(entries);
});

test("a tag selects by its own name, and the configuration belongs to the revision", async () => {
  const { metadata, webhooks } = await printed(["--revision", "canary", "--tag", "prod"]);
  expect(metadata.labels).toMatchObject({ "istio.io/rev": "canary", "istio.io/tag": "prod" });
  expect(webhooks[0]?.namespaceSelector).toEqual({
    matchExpressions: [
      { key: "istio.io/rev", operator: "In", values: ["prod"] },
      { key: "istio-injection", operator: "DoesNotExist" },
    ],
  });
  expect(webhooks[0]?.clientConfig).toEqual({
    service: { name: "istiod-canary", namespace: "istio-system", path: "/inject", port: 443 },
  });
});

test.each([
  { words: [], namespaces: { matchLabels: { "istio-injection": "enabled" } } },
  {
    words: ["--revision", "canary"],
    namespaces: {
      matchExpressions: [
        { key: "istio-injection", operator: "DoesNotExist" },
        { key: "istio.io/rev", operator: "In", values: ["canary"] },
      ],
    },
  },
])("1.7 has one entry, for $words with its own namespaces", async ({ words, namespaces }) => {
  const configuration = await printed(words, { PILOT_AGENT_GENERATION: "1.7" });
  expect(entryNames(configuration)).toEqual([""]);
  expect(configuration.webhooks[0]).toMatchObject({
    admissionReviewVersions: ["v1beta1", "v1"],
    matchPolicy: "Exact",
    timeoutSeconds: 30,
    namespaceSelector: namespaces,
    objectSelector: {},
  });
});

test.each([
  { words: ["--url", "http://injector/inject"], says: "expected https://HOST" },
  { words: ["--failurePolicy", "Maybe"], says: 'is "Maybe", allowed are Fail, Ignore' },
  { words: ["--revision", "Canary_1"], says: 'is "Canary_1", allowed: lower case letters' },
  { words: ["--path", "inject"], says: 'is "inject", expected a path' },
])("$words is refused with what is allowed", async ({ words, says }) => {
  const { code, stderr } = await run(words);
  expect(code).toBe(1);
  expect(stderr).toContain(says);
});
