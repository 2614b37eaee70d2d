import type { AnalyzedObject } from "../../analyze/index.ts";
import type { ExplainedTelemetry } from "../../envoy-config/index.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";

type Speaker = ExplainedTelemetry["said"][number]["by"];

/** Which provider and override is in force for a workload, and what they overruled. */
export async function telemetryText(
  view: ProxyView,
  objects: readonly AnalyzedObject[],
  format: string,
): Promise<string> {
  const { explainTelemetry } = await import("../../envoy-config/index.ts");
  const explained = explainTelemetry(view).map(({ said, ...rest }) => ({
    ...rest,
    said: said.map(({ by, ...one }) => ({ ...one, by: speakerText(by, objects) })),
  }));
  if (format === "json") return `${JSON.stringify(explained, undefined, 2)}\n`;
  if (format === "yaml") return printYaml(explained);
  return explained
    .map(({ what, mode, isOn, reasons, said }) => {
      const side = mode === "CLIENT" ? "calls that it makes" : "calls to it";
      const lines = said.map(
        ({ subject, value, by, isInForce }) =>
          `  ${isInForce ? " " : "-"} ${subject}: ${value}  (${by}${isInForce ? "" : ", overruled"})`,
      );
      return [
        `${what} of ${side}: ${isOn ? "on" : "off"}`,
        ...reasons.map((reason) => `  ! ${reason}`),
        ...lines,
        "",
      ].join("\n");
    })
    .join("");
}

function speakerText({ level, object, path }: Speaker, objects: readonly AnalyzedObject[]): string {
  const member = path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : text === "" ? part : `${text}.${part}`),
    "",
  );
  if (object === undefined) return member === "" ? level : `${level}, ${member}`;
  const { kind, namespace, name } = object;
  const found = objects.find((each) => each.kind === kind && each.namespace === namespace && each.name === name);
  const at = found?.locate?.(["spec", ...path]);
  return `${kind} ${namespace}/${name}, ${level}, ${member}${at === undefined ? "" : `, ${at.file}:${at.line}`}`;
}
