import { expect, test } from "vitest";
import { findCommandWord } from "./find-command.ts";
import type { FlagSpec } from "./flags.ts";

const SPECS: readonly FlagSpec[] = [
  { name: "log_as_json", type: "bool", default: false, usage: "" },
  { name: "level", type: "string", default: "", usage: "" },
  { name: "help", short: "h", type: "bool", default: false, usage: "" },
];

test.each([
  { line: "version", word: "version", rest: "" },
  { line: "--log_as_json version -s", word: "version", rest: "--log_as_json -s" },
  { line: "--level debug version", word: "version", rest: "--level debug" },
  { line: "--level=debug version", word: "version", rest: "--level=debug" },
  { line: "--foo proxy sidecar", word: "sidecar", rest: "--foo proxy" },
  { line: "--foo=1 proxy router", word: "proxy", rest: "--foo=1 router" },
  { line: "-h version", word: "version", rest: "-h" },
  { line: "-xy version", word: "version", rest: "-xy" },
  { line: "version version", word: "version", rest: "version" },
  { line: "--level version version", word: "version", rest: "--level version" },
  { line: "-x version", word: undefined, rest: "-x version" },
  { line: "--foo version", word: undefined, rest: "--foo version" },
  { line: "-- version", word: undefined, rest: "-- version" },
  { line: "-", word: undefined, rest: "-" },
  { line: "", word: undefined, rest: "" },
])("of '$line' the command is $word and '$rest' is left", ({ line, word, rest }) => {
  const split = (text: string) => text.split(" ").filter((part) => part !== "");
  expect(findCommandWord(SPECS, split(line))).toEqual({ word, rest: split(rest) });
});
