import { describe, expect, test } from "vitest";
import type { TelemetryAccessLogging } from "../../istio-api/specs.ts";
import { type LoggingMode, mergeLogging } from "./telemetry.ts";

interface Entry {
  readonly providers?: readonly string[];
  readonly mode?: "CLIENT" | "SERVER" | "CLIENT_AND_SERVER";
  readonly filter?: string;
  readonly disabled?: boolean;
}

const logging = ({ providers = [], mode, filter, disabled }: Entry): TelemetryAccessLogging => ({
  providers: providers.map((name) => ({ name })),
  ...(mode !== undefined && { match: { mode } }),
  ...(filter !== undefined && { filter: { expression: filter } }),
  ...(disabled !== undefined && { disabled }),
});

/** Providers as words: the name, "off" and the filter. */
function merged(
  layers: readonly (readonly Entry[])[],
  defaults: readonly string[] = ["envoy"],
  mode: LoggingMode = "CLIENT",
) {
  const choices = mergeLogging(
    layers.map((layer) => layer.map(logging)),
    defaults,
    mode,
  );
  return [...choices].map(([name, { isDisabled, filter }]) =>
    [name, isDisabled && "off", filter].filter(Boolean).join(" "),
  );
}

describe("which providers there are", () => {
  test.each<{
    name: string;
    layers: readonly (readonly Entry[])[];
    defaults?: readonly string[];
    are: readonly string[];
  }>([
    { name: "without Telemetry, the mesh's defaults", layers: [], are: ["envoy"] },
    { name: "without Telemetry and defaults, none", layers: [], defaults: [], are: [] },
    { name: "an entry that names none is about the defaults", layers: [[{}]], are: ["envoy"] },
    {
      name: "an entry that names one takes the place of the defaults",
      layers: [[{ providers: ["otel"] }]],
      are: ["otel"],
    },
    { name: "all that one entry names", layers: [[{ providers: ["otel", "file"] }]], are: ["otel", "file"] },
    {
      name: "all that the entries of one layer name",
      layers: [[{ providers: ["otel"] }, { providers: ["file"] }]],
      are: ["otel", "file"],
    },
    {
      name: "the inner layer's instead of the outer one's",
      layers: [[{ providers: ["otel"] }], [{ providers: ["file"] }]],
      are: ["file"],
    },
    {
      name: "the outer layer's where the inner one names none",
      layers: [[{ providers: ["otel"] }], [{ disabled: false }]],
      are: ["otel"],
    },
  ])("$name", ({ layers, defaults, are }) => {
    expect(merged(layers, defaults)).toEqual(are);
  });
});

describe("directions", () => {
  test.each<{ mode: Entry["mode"]; client: readonly string[]; server: readonly string[] }>([
    { mode: undefined, client: ["otel"], server: ["otel"] },
    { mode: "CLIENT_AND_SERVER", client: ["otel"], server: ["otel"] },
    { mode: "CLIENT", client: ["otel"], server: [] },
    { mode: "SERVER", client: [], server: ["otel"] },
  ])("an entry for $mode", ({ mode, client, server }) => {
    const layers = [[{ providers: ["otel"], ...(mode !== undefined && { mode }) }]];
    expect(merged(layers, [], "CLIENT")).toEqual(client);
    expect(merged(layers, [], "SERVER")).toEqual(server);
  });

  test("an entry that is not meant still says what the next one without providers is about", () => {
    const layers: Entry[][] = [[{ providers: ["otel"] }, { providers: ["file"], mode: "SERVER" }, { disabled: true }]];
    expect(merged(layers)).toEqual(["otel"]);
    expect(merged(layers, [], "SERVER")).toEqual(["otel", "file off"]);
  });
});

describe("switching off and filters", () => {
  test.each<{ name: string; layers: readonly (readonly Entry[])[]; are: readonly string[] }>([
    { name: "a layer switches the defaults off", layers: [[{ disabled: true }]], are: ["envoy off"] },
    {
      name: "an inner layer switches them on again",
      layers: [[{ disabled: true }], [{ disabled: false }]],
      are: ["envoy"],
    },
    { name: "an inner layer that says nothing of it does too", layers: [[{ disabled: true }], [{}]], are: ["envoy"] },
    { name: "a filter", layers: [[{ filter: "a > 1" }]], are: ["envoy a > 1"] },
    {
      name: "a filter stays when something else is said of its providers",
      layers: [[{ providers: ["otel"], filter: "a > 1" }], [{ disabled: true }]],
      are: ["otel off a > 1"],
    },
    {
      name: "a filter goes when its provider is named again without one",
      layers: [[{ providers: ["otel"], filter: "a > 1" }], [{ providers: ["otel"] }]],
      are: ["otel"],
    },
    {
      name: "a filter of the inner layer takes the place of the outer one's",
      layers: [[{ filter: "a > 1" }], [{ filter: "b > 2" }]],
      are: ["envoy b > 2"],
    },
    {
      name: "what is said after a provider was named is about it alone",
      layers: [[{ disabled: true }, { providers: ["otel"] }, { filter: "a > 1" }]],
      are: ["otel a > 1"],
    },
  ])("$name", ({ layers, are }) => {
    expect(merged(layers)).toEqual(are);
  });
});
