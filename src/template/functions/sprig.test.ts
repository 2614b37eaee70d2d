import { expect, test } from "vitest";
import { parseTemplate } from "../parse-template.ts";
import { GoEnum } from "../values.ts";
import { SPRIG_FUNCTIONS } from "./sprig.ts";

const data = {
  name: "Proxy",
  empty: "",
  list: ["b", "a", "b"],
  map: { k: "v" },
  mode: new GoEnum("Mode", "MUTUAL_TLS", 1),
};
const run = (text: string) => parseTemplate("t", text, { functions: SPRIG_FUNCTIONS }).execute(data);

test.each([
  ['{{default "d" .empty}} {{default "d" .missing}} {{default "d" .name}} {{.missing | default 3}}', "d d Proxy 3"],
  ['{{quote .name 1 nil}} {{squote "a"}} {{"a\\"b" | quote}}', '"Proxy" "1" \'a\' "a\\"b"'],
  ['{{upper .name}} {{lower .name}} {{title "ab cd"}} {{untitle "AB"}}', "PROXY proxy Ab Cd aB"],
  [
    '{{trim " x "}}|{{trimAll "$" "$5$"}}|{{trimPrefix "v" "v1"}}|{{trimSuffix ".go" "a.go"}}|{{nospace "a b"}}',
    "x|5|1|a|ab",
  ],
  ['{{trunc 3 "abcdef"}} {{trunc -2 "abcdef"}} {{substr 1 3 "abcd"}} {{substr 2 -1 "abcd"}}', "abc ef bc cd"],
  [
    '{{replace "a" "-" "banana"}} {{contains "an" "banana"}} {{hasPrefix "b" "ba"}} {{hasSuffix "b" "ba"}}',
    "b-n-n- true true false",
  ],
  ['{{(split "," "a,b")._1}} {{splitList "," "a,b"}} {{join "-" .list}} {{join "," 5}}', "b [a b] b-a-b 5"],
  ['{{repeat 3 "ab"}} {{cat "a" 1 nil "b"}}', "ababab a 1 b"],
  ['{{indent 2 "a\\nb"}}|{{nindent 2 "a"}}', "  a\n  b|\n  a"],
  [
    "{{list 1 2 | first}} {{last .list}} {{rest .list}} {{initial .list}} {{first (list)}}",
    "1 b [a b] [b a] <no value>",
  ],
  [
    '{{append .list "z"}} {{prepend .list "z"}} {{concat .list (list 1)}} {{compact (list "" 1 0)}}',
    "[b a b z] [z b a b] [b a b 1] [1]",
  ],
  [
    '{{uniq .list}} {{has "a" .list}} {{without .list "b"}} {{sortAlpha .list}} {{reverse .list}}',
    "[b a] true [a] [a b b] [b a b]",
  ],
  ["{{until 3}} {{untilStep 3 0 -1}} {{until -2}}", "[0 1 2] [3 2 1] [0 -1]"],
  [
    '{{dict "a" 1 "b"}} {{get .map "k"}}{{get .map "x"}} {{hasKey .map "k"}} {{keys .map}} {{values .map}}',
    "map[a:1 b:] v true [k] [v]",
  ],
  [
    '{{pick (dict "a" 1 "b" 2) "a"}} {{omit (dict "a" 1 "b" 2) "a"}} {{merge (dict "a" 1) (dict "a" 2 "b" 3)}}',
    "map[a:1] map[b:2] map[a:1 b:3]",
  ],
  ['{{empty ""}} {{coalesce 0 "" "x" "y"}} {{ternary "y" "n" true}} {{true | ternary "y" "n"}}', "true x y y"],
  ['{{kindOf .list}} {{kindIs "map" .map}} {{typeOf 1.5}}', "slice true float64"],
  ['{{int "42"}} {{int64 3.9}} {{float64 "2.5"}} {{atoi "x"}} {{int true}} {{toString 5}}', "42 3 2.5 0 1 5"],
  ["{{add 1 2 3}} {{add1 1}} {{sub 5 2}} {{mul 2 3 4}} {{div 7 2}} {{div -7 2}} {{mod 7 3}}", "6 2 3 24 3 -3 1"],
  ["{{max 1 5 3}} {{min 4 2}} {{floor 2.7}} {{ceil 2.1}}", "5 2 2 3"],
  ['{{b64enc "hé"}} {{b64dec "aMOp"}} {{sha256sum "a" | trunc 8}}', "aMOp hé ca978112"],
  [
    '{{toJson .map}} {{toJson .missing}} {{toJSON .missing}} {{toJSON nil}} {{toJson .mode}} {{toRawJson "<"}}',
    '{"k":"v"} null {} {} 1 "<"',
  ],
  ['{{toJson (dict "b" 1 "a" "<&>")}}', '{"a":"\\u003c\\u0026\\u003e","b":1}'],
  ['{{(fromJson `{"a":[1,{"b":2}]}`).a}} {{toPrettyJson (list 1)}}', "[1 map[b:2]] [\n  1\n]"],
  ['{{toYaml (dict "a" (list 1 "x"))}} {{(fromYaml "a: b").a}}', "a:\n- 1\n- x b"],
  [
    "{{.mode}} {{eq .mode 1}} {{printf `%s %d` .mode .mode}} {{if eq .mode 1}}tls{{end}}",
    "MUTUAL_TLS true MUTUAL_TLS 1 tls",
  ],
])("%s prints %j", (text, printed) => {
  expect(run(text)).toBe(printed);
});

test.each([
  ["{{div 1 0}}", "error calling div: integer divide by zero"],
  ['{{fail "no zone"}}', "error calling fail: no zone"],
  ["{{upper 5}}", "wrong type for value; expected string; got int"],
  ["{{keys 5}}", "wrong type for value; expected map[string]interface {}; got int"],
  ['{{fromJson "{"}}', "error calling fromJson: "],
  [
    '{{fromYaml (repeat 600 "[")}}',
    "error calling fromYaml: yaml: line 1: nested too deeply, at most 500 levels are allowed",
  ],
  ['{{b64dec "*"}}', "error calling b64dec: illegal base64 data"],
  ['{{replace "a"}}', "wrong number of args for replace: want 3 got 1"],
  ["{{untilStep 1 2 0}}", "error calling untilStep: step must not be zero"],
])("%s fails with: %s", (text, message) => {
  expect(() => run(text)).toThrow(message);
});
