import { expect, test } from "vitest";
import { cannotExecute, exitOf } from "./exit-text.ts";

test.each([
  { code: 0, signal: null, kind: "clean", text: "<nil>" },
  { code: 1, signal: null, kind: "crashed", text: "exit status 1" },
  { code: 137, signal: null, kind: "crashed", text: "exit status 137" },
  { code: null, signal: "SIGKILL", kind: "killed", text: "signal: killed" },
  { code: null, signal: "SIGTERM", kind: "crashed", text: "signal: terminated" },
  { code: null, signal: "SIGABRT", kind: "crashed", text: "signal: aborted" },
  { code: null, signal: "SIGSEGV", kind: "crashed", text: "signal: segmentation fault" },
  { code: null, signal: "SIGRTMIN", kind: "crashed", text: "signal: rtmin" },
])("code $code, signal $signal reads '$text'", ({ code, signal, kind, text }) => {
  expect(exitOf(code, signal)).toEqual({ kind, text });
});

test.each([
  { program: "/x/envoy", error: "ENOENT", text: "fork/exec /x/envoy: no such file or directory" },
  { program: "/x/envoy", error: "EACCES", text: "fork/exec /x/envoy: permission denied" },
  { program: "/x/envoy", error: "ENOEXEC", text: "fork/exec /x/envoy: exec format error" },
  { program: "/x/envoy", error: "EIO", text: "fork/exec /x/envoy: EIO" },
  { program: "envoy", error: "ENOENT", text: 'exec: "envoy": executable file not found in $PATH' },
])("$program that fails with $error reads '$text'", ({ program, error, text }) => {
  expect(cannotExecute(program, error)).toEqual({ kind: "cannot-execute", text });
});
