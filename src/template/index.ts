export { type FunctionTable, fixed, variadic } from "./function-table.ts";
export { SPRIG_FUNCTIONS } from "./functions/sprig.ts";
export { marshalGoJson } from "./go-json.ts";
export { parseTemplate } from "./parse-template.ts";
export { TemplateError } from "./template-error.ts";
export { GoEnum, GoStruct } from "./values.ts";
