import { expect, test } from "vitest";
import { parseOwnReason } from "../preflight.ts";

test.each([
  {
    what: "a wrong field",
    output:
      "[2026-11-15 22:09:08.006][10905][critical][main] [source/server/config_validation/server.cc:76] error initializing configuration 'bad.json': Protobuf message (type envoy.config.bootstrap.v3.Bootstrap\n reason INVALID_ARGUMENT: near 2:376 (offset  491): no such field:   'stat_prefixx') has unknown fields\n[2026-11-15 22:09:08.071][10907][warning][main] later\n",
    reason:
      "Protobuf message (type envoy.config.bootstrap.v3.Bootstrap reason INVALID_ARGUMENT: near 2:376 (offset 491): no such field: 'stat_prefixx') has unknown fields",
  },
  {
    what: "a refused flag",
    output:
      "PARSE ERROR: Argument: --max-obj-name-len\n             Couldn't find match for argument\n\nBrief USAGE:\n   envoy\n",
    reason: "--max-obj-name-len: Couldn't find match for argument",
  },
  {
    what: "another critical line",
    output: "[2026-11-15 22:09:08.006][1][critical][main] [source/x.cc:1] no such cluster\n",
    reason: "no such cluster",
  },
  {
    what: "plain text at the end",
    output: "warming up\nerror: unexpected log level 'x'\n",
    reason: "unexpected log level 'x'",
  },
  { what: "other plain text", output: "something is wrong\n", reason: "something is wrong" },
  { what: "only ordinary log lines", output: "[2026-11-15 22:09:08.071][1][warning][main] hm\n", reason: undefined },
  { what: "nothing", output: "", reason: undefined },
])("from $what the reason is $reason", ({ output, reason }) => {
  expect(parseOwnReason(output)).toBe(reason);
});
