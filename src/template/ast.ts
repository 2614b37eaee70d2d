/** Every node knows where it began (an index into the source), for error messages. */
interface At {
  readonly pos: number;
}

export type Expression =
  | (At & { readonly kind: "dot" })
  | (At & { readonly kind: "nil" })
  | (At & { readonly kind: "bool"; readonly value: boolean })
  | (At & { readonly kind: "number"; readonly text: string; readonly value: number | bigint })
  | (At & { readonly kind: "string"; readonly text: string; readonly value: string })
  | (At & { readonly kind: "field"; readonly names: readonly string[] })
  | (At & { readonly kind: "variable"; readonly name: string; readonly names: readonly string[] })
  | (At & { readonly kind: "chain"; readonly operand: Expression; readonly names: readonly string[] })
  | (At & { readonly kind: "function"; readonly name: string })
  | (At & { readonly kind: "pipeline"; readonly pipeline: Pipeline });

export interface Command extends At {
  readonly args: readonly [Expression, ...Expression[]];
}

export interface Pipeline extends At {
  readonly variables: readonly string[];
  /** `=` instead of `:=`. */
  readonly assigns: boolean;
  readonly commands: readonly Command[];
}

export type Branch = At & {
  readonly kind: "if" | "with" | "range";
  readonly pipeline: Pipeline;
  readonly body: readonly Node[];
  readonly otherwise: readonly Node[];
};

export type Node =
  | (At & { readonly kind: "text"; readonly text: string })
  | (At & { readonly kind: "action"; readonly pipeline: Pipeline })
  | Branch
  | (At & { readonly kind: "template"; readonly name: string; readonly pipeline: Pipeline | undefined })
  | (At & { readonly kind: "break" | "continue" });

/** The source form of an expression, as error messages quote it. */
export function printExpression(node: Expression | Command | Pipeline): string {
  if ("commands" in node) {
    const variables = node.variables.length > 0 ? `${node.variables.join(", ")} ${node.assigns ? "=" : ":="} ` : "";
    return variables + node.commands.map(printExpression).join(" | ");
  }
  if ("args" in node) return node.args.map(printArgument).join(" ");
  switch (node.kind) {
    case "dot":
      return ".";
    case "nil":
      return "nil";
    case "bool":
      return String(node.value);
    case "number":
    case "string":
      return node.text;
    case "field":
      return node.names.map((name) => `.${name}`).join("");
    case "variable":
      return [node.name, ...node.names].join(".");
    case "chain":
      return `${printArgument(node.operand)}${node.names.map((name) => `.${name}`).join("")}`;
    case "function":
      return node.name;
    case "pipeline":
      return printExpression(node.pipeline);
  }
}

function printArgument(node: Expression): string {
  return node.kind === "pipeline" ? `(${printExpression(node)})` : printExpression(node);
}
