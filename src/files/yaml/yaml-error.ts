import { CodedError } from "../../base/coded-error.ts";

export class YamlError extends CodedError<"invalid-yaml"> {}
