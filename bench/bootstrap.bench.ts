import { generateBootstrap } from "../src/bootstrap/core/generate-bootstrap.ts";
import { buildNodeDescriptor } from "../src/bootstrap/core/node-descriptor.ts";
import { templateRenderer } from "../src/bootstrap/core/template-renderer.ts";
import { sidecarInputs } from "../test/support/bootstrap/bootstrap-inputs.ts";
import type { Bench, BenchRow } from "./bench.ts";

const MEASURE_MS = 1_000;

/** Bootstrap documents per second: descriptor, document and text, against writing the finished document as JSON. */
const bench: Bench = {
  name: "bootstrap",
  async run({ note }) {
    const labels = Array.from({ length: 30 }, (_, index) => `label-${index}="value ${index}"\n`).join("");
    const inputs = sidecarInputs({
      podLabels: labels,
      podAnnotations: labels,
      proxyConfig: {
        tracing: { zipkin: { address: "zipkin.istio-system:9411" } },
        envoyMetricsService: { address: "m:1" },
      },
    });
    const generate = () => generateBootstrap(inputs, buildNodeDescriptor(inputs)).text;
    const document: unknown = JSON.parse(generate());
    const template =
      '{"node":{"id":"{{.nodeID}}","metadata":{{.meta_json_str}}},"tags":[{{range .extraStatTags}}"{{.}}",{{end}}0]}';
    note(`document of ${generate().length} characters`);
    const plain = perSecond(() => JSON.stringify(document));
    return [
      row("documents", perSecond(generate), plain, "at most 30 times the cost of writing it"),
      row(
        "user template",
        perSecond(() => generateBootstrap(inputs, buildNodeDescriptor(inputs), templateRenderer(template)).text),
        plain,
      ),
      { name: "JSON.stringify of the document", value: plain, unit: "1/s" },
    ];
  },
};

export default bench;

function row(name: string, value: number, plain: number, goal?: string): BenchRow {
  return {
    name,
    value,
    unit: "1/s",
    ratio: { to: "cost of JSON.stringify of the document", value: plain / value },
    ...(goal !== undefined && { goal }),
  };
}

function perSecond(work: () => unknown): number {
  const until = (ms: number) => {
    const start = performance.now();
    let turns = 0;
    while (performance.now() - start < ms) {
      for (let index = 0; index < 10; index += 1) work();
      turns += 10;
    }
    return (turns * 1_000) / (performance.now() - start);
  };
  until(MEASURE_MS / 4);
  return Math.round(until(MEASURE_MS));
}
