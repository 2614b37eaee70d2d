import { expect, test, vi } from "vitest";
import { meshOutput } from "./up.ts";

function failing(code: string) {
  const gone = vi.fn();
  const write = () => {
    throw Object.assign(new Error(`${code}: write`), { code });
  };
  return { gone, output: meshOutput(gone, () => ({ write, close: () => undefined })) };
}

test.each(["EPIPE", "EIO"])(
  "a reader that has gone (%s) is reported, for both outputs, and nothing is thrown",
  (code) => {
    const { gone, output } = failing(code);
    output.print("one\n");
    output.printError("two\n");
    expect(gone).toHaveBeenCalledTimes(2);
  },
);

test("a full disk behind the output costs the line and nothing else", () => {
  const { gone, output } = failing("ENOSPC");
  output.print("one\n");
  expect(gone).not.toHaveBeenCalled();
});

test("texts go to the output they are meant for", () => {
  const written: string[] = [];
  const output = meshOutput(vi.fn(), (name) => ({
    write: (text) => void written.push(`${name} ${text}`),
    close: () => undefined,
  }));
  output.print("one");
  output.printError("two");
  expect(written).toEqual(["stdout one", "stderr two"]);
});
