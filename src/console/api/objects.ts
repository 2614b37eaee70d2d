import type { ObjectDifference } from "./actions.ts";
import type { FilePosition, Problem } from "./problems.ts";

export interface ObjectList {
  readonly revision: string;
  readonly objects: readonly ObjectSummary[];
  /** Files and documents that are no object at all. */
  readonly problems: readonly Problem[];
}

export interface ObjectSummary {
  readonly kind: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly name: string;
  /** `generated`: made by the mesh. `file`: of the user's files or mesh file. `applied`: by a command or from here. `cluster`: of an API server. */
  readonly origin: "generated" | "file" | "applied" | "cluster";
  /** A file's object can be changed too: what is applied stands above it until it is deleted again. */
  readonly editable: boolean;
  /** Applied above one of a file, which comes back when this is deleted. */
  readonly overrides: boolean;
  readonly source?: FilePosition;
  readonly problems: readonly Problem[];
  /** The action that wrote it, while it is in force. */
  readonly action?: string;
}

export interface ObjectDetail extends ObjectSummary {
  /** As its user wrote it where that is known, else printed. */
  readonly yaml: string;
}

/** One or more documents. */
export interface ObjectText {
  readonly yaml: string;
  /** Also ask analyze, which looks at the other objects too; true when absent. */
  readonly analyze?: boolean;
}

export interface Validation {
  readonly problems: readonly Problem[];
  /** Of the documents that could be read. */
  readonly objects: readonly { readonly kind: string; readonly namespace: string; readonly name: string }[];
}

export interface ObjectChange {
  readonly changes: readonly ObjectDifference[];
  /** Warnings. */
  readonly problems: readonly Problem[];
  readonly revision: string;
}

export interface SchemaList {
  readonly kinds: readonly { readonly kind: string; readonly apiVersion: string; readonly description?: string }[];
}

/** The definition's `openAPIV3Schema` of the kind, with `apiVersion`, `kind`, `metadata` and `spec`. */
export interface ObjectSchema {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: JsonSchema;
}

/** What of JSON Schema the definitions use. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
}
