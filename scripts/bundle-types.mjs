// One declaration file of what the library's door exports, instead of one for each source. Every module becomes a namespace that holds
// only what the door leads to, so no name has to change.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";

const STATEMENT = /^(?:import\b|export\b|declare\b|type\b|interface\b|const\b|class\b|function\b)/;
const DECLARED =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|const|function|interface|type|let|var|enum|namespace) ([\w$]+)/;
const CLAUSE = /^(?:import|export)(?: type)?\s*(?:\{([^}]*)\}|\* as (\w+))\s*from "([^"]+)";/;
const INLINE = /\bimport\("([^"]+)"\)\.([\w$]+)/g;
const WORD = /[A-Za-z_$][\w$]*/g;

/** The text of the declarations, from the file that declares the door. */
export function bundleTypes(entry) {
  const modules = new Map();
  const externals = new Map();
  const moduleAt = (path) => {
    if (!modules.has(path))
      modules.set(path, { id: `m${modules.size}`, path, ...parseModule(path), needed: new Set() });
    return modules.get(path);
  };
  const external = (name) => {
    if (!externals.has(name)) externals.set(name, `x${externals.size}`);
    return externals.get(name);
  };
  const target = (module, specifier) =>
    specifier.startsWith(".")
      ? moduleAt(resolve(dirname(module.path), specifier.replace(/\.[jt]s$/, ".d.ts")))
      : undefined;
  /** Marks a name of a module and everything that its declaration leads to. */
  const need = (module, name) => {
    if (module.needed.has(name)) return;
    const declarations = module.declarations.get(name);
    const link = module.links.get(name);
    if (declarations === undefined && link === undefined) return;
    module.needed.add(name);
    if (link !== undefined) {
      const from = target(module, link.from);
      if (from === undefined) external(link.from);
      else if (link.name === "*")
        for (const each of [...from.declarations.keys(), ...from.links.keys()]) need(from, each);
      else need(from, link.name);
    }
    for (const text of declarations ?? []) {
      for (const [, from, word] of text.matchAll(INLINE)) {
        const other = target(module, from);
        if (other === undefined) external(from);
        else need(other, word);
      }
      for (const [word] of withoutComments(text).matchAll(WORD)) need(module, word);
    }
  };
  const door = moduleAt(resolve(entry));
  for (const name of door.links.keys()) need(door, name);

  const aliasOf = (module, { from, name }) => {
    const other = target(module, from);
    const owner = other === undefined ? external(from) : other.id;
    return name === "*" ? owner : `${owner}.${name}`;
  };
  const bodies = [...modules.values()]
    .filter((module) => module !== door && module.needed.size > 0)
    .map((module) => {
      const lines = [...module.needed].flatMap((name) => {
        const link = module.links.get(name);
        if (link !== undefined) return [`${link.isExport ? "export " : ""}import ${name} = ${aliasOf(module, link)};`];
        return module.declarations
          .get(name)
          .map((text) =>
            text
              .replace(/^(export )?declare /m, "$1")
              .replace(INLINE, (_, from, word) => aliasOf(module, { from, name: word })),
          );
      });
      return `declare namespace ${module.id} {\n${lines.join("\n").replace(/^/gm, "  ")}\n}\n`;
    });
  const exported = [...door.links].map(([name, link]) => `export import ${name} = ${aliasOf(door, link)};\n`);
  const imports = [...externals].map(([name, id]) => `import * as ${id} from "${name}";\n`);
  const foreign = [...externals.keys()].filter((name) => !name.startsWith("node:"));
  if (foreign.length > 0)
    throw new Error(`the door's types need ${foreign.join(", ")}, which the package does not bring`);
  return [...imports, ...bodies, ...exported].join("");
}

/** What a module declares, and what it has from others, by name. */
function parseModule(path) {
  const declarations = new Map();
  const links = new Map();
  for (const { comment, text } of statementsOf(readFileSync(path, "utf8"))) {
    const [clause, names, star, from] = CLAUSE.exec(text) ?? [];
    const [, name] = DECLARED.exec(text) ?? [];
    if (name !== undefined) declarations.set(name, [...(declarations.get(name) ?? []), `${comment}${text.trimEnd()}`]);
    else if (star !== undefined) links.set(star, { from, name: "*", isExport: clause.startsWith("export") });
    else if (names !== undefined)
      for (const part of names.split(",")) {
        const [given, alias = given] = part
          .replace(/^\s*type\s/, "")
          .trim()
          .split(/ as /);
        if (given !== "") links.set(alias, { from, name: given, isExport: clause.startsWith("export") });
      }
    else if (!/^export \{\s*\};/.test(text)) throw new Error(`${path}: what is ${text.split("\n")[0]}?`);
  }
  return { declarations, links };
}

/** The compiler starts every statement, and the comment before it, in the first column; comments inside of a union too. */
function statementsOf(text) {
  const statements = [];
  let comment = "";
  for (const line of text.split("\n")) {
    if (STATEMENT.test(line)) {
      statements.push({ comment, text: line });
      comment = "";
    } else if (comment !== "" || line.startsWith("/**")) {
      const isEnded = comment.includes("*/");
      if (!isEnded || line.startsWith("/**")) comment += `${line}\n`;
      else {
        append(statements, `${comment}${line}`);
        comment = "";
      }
    } else append(statements, line);
  }
  return statements;
}

function append(statements, more) {
  const last = statements.at(-1);
  if (last !== undefined) last.text += `\n${more}`;
}

function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|"(?:[^"\\]|\\.)*"/g, "");
}
