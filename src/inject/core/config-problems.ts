import { isJsonObject } from "../../base/json-object.ts";
import type { Json } from "./json.ts";

type Shape = "text" | "map" | "texts" | "maps" | "lists of texts";

/** Members of an injection config that have an effect, and what they hold. */
const MEMBERS: Readonly<Record<string, Shape>> = {
  policy: "text",
  defaultTemplates: "texts",
  templates: "map",
  aliases: "lists of texts",
  neverInjectSelector: "maps",
  alwaysInjectSelector: "maps",
  injectedAnnotations: "map",
};

/** Why an injection config cannot be used, one text for each member; none when it can. Null is as good as absent. */
export function configProblems(config: Json): readonly string[] {
  return Object.entries(MEMBERS).flatMap(([name, shape]) => {
    const value = config[name];
    if (value === undefined || value === null || hasShape(value, shape)) return [];
    return [`${name} is ${shown(value)}, allowed is ${SHAPE_TEXTS[shape]}`];
  });
}

const SHAPE_TEXTS: Readonly<Record<Shape, string>> = {
  text: "text",
  map: "a map of texts",
  texts: "a list of texts",
  maps: "a list of label selectors",
  "lists of texts": "a map of lists of texts",
};

function hasShape(value: unknown, shape: Shape): boolean {
  const isText = (item: unknown) => typeof item === "string";
  const isTexts = (item: unknown) => Array.isArray(item) && item.every(isText);
  switch (shape) {
    case "text":
      return isText(value);
    case "map":
      return isJsonObject(value) && Object.values(value).every(isText);
    case "texts":
      return isTexts(value);
    case "maps":
      return Array.isArray(value) && value.every(isJsonObject);
    case "lists of texts":
      return isJsonObject(value) && Object.values(value).every(isTexts);
  }
}

/** Values that have another shape than the built-in ones: a text where there should be a map would be an empty map to every template. */
export function valuesProblems(builtin: Json, values: Json, path = ""): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const [known, at] = [builtin[name], path === "" ? name : `${path}.${name}`];
    if (known === undefined || value === null || value === undefined) return [];
    if (isJsonObject(known) && isJsonObject(value)) return valuesProblems(known, value, at);
    if (kindOf(known) === kindOf(value)) return [];
    return [`${at} is ${shown(value)}, allowed is ${kindOf(known)}`];
  });
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  return isJsonObject(value) ? "a map" : "text, a number, true or false";
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
