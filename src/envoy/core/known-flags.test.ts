import { expect, test } from "vitest";
import { dropUnknownFlags, parseKnownFlags } from "./known-flags.ts";

const HELP = `
USAGE:

   envoy  [--stats-tag <string>] ... [--concurrency <uint32_t>] [-c <string>]

Where:

   --stats-tag <string>  (accepted multiple times)
     This flag merges with --mode somewhere
   --disable-hot-restart
     Disable hot restart functionality
   -l <string>,  --log-level <string>
     Log levels: [trace][debug]
   -c <string>,  --config-path <string>
     Path to configuration file
   -h,  --help
     Displays usage information and exits.
`;

test("the flags of a help text are those that head an entry", () => {
  const expected = ["--stats-tag", "--disable-hot-restart", "-l", "--log-level", "-c", "--config-path", "-h", "--help"];
  expect([...parseKnownFlags(HELP)]).toEqual(expected);
});

test("an unknown flag goes together with its value, a switch alone", () => {
  const args = ["-c", "f", "--max-obj-name-len", "189", "--skip-deprecated-logs", "--disable-hot-restart", "-l", "--x"];
  expect(dropUnknownFlags(args, parseKnownFlags(HELP))).toEqual({
    kept: ["-c", "f", "--disable-hot-restart", "-l", "--x"],
    dropped: ["--max-obj-name-len", "--skip-deprecated-logs"],
  });
});

test("a binary that tells nothing gets everything", () => {
  expect(dropUnknownFlags(["--a", "b"], new Set())).toEqual({ kept: ["--a", "b"], dropped: [] });
});
