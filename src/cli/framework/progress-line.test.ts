import { expect, test } from "vitest";
import { createProgressLine } from "./progress-line.ts";

test.each([
  {
    where: "a terminal",
    isTerminal: true,
    printed: "\rGetting it ...\rUnpacking: 1 %\rUnpacking: 99 %\rdone           \n",
  },
  { where: "a pipe", isTerminal: false, printed: "Getting it ...\n" },
])("on $where progress is one line", ({ isTerminal, printed }) => {
  let text = "";
  const line = createProgressLine({
    isTerminal,
    printError: (more) => {
      text += more;
    },
  });
  for (const each of ["Getting it ...", "Unpacking: 1 %", "Unpacking: 99 %", "done"]) line.show(each);
  line.end();
  expect(text).toBe(printed);
});

test("work that never says anything leaves no empty line", () => {
  const printed: string[] = [];
  createProgressLine({ isTerminal: true, printError: (text) => void printed.push(text) }).end();
  expect(printed).toEqual([]);
});
