import { expect, test } from "vitest";
import { recordingLogger } from "../../test/support/envoy/life.ts";
import { warnAboutLowFdLimit } from "./start-envoy.ts";

const limits = (soft: string, hard: string) =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${soft}                 ${hard}               files\n`;

test.each([
  { soft: "1024", hard: "524288", warned: true },
  { soft: "65535", hard: "65535", warned: true },
  { soft: "65536", hard: "65536", warned: false },
  { soft: "unlimited", hard: "unlimited", warned: false },
])("a limit of $soft open files is warned about: $warned", ({ soft, hard, warned }) => {
  const log = recordingLogger();
  warnAboutLowFdLimit(log, limits(soft, hard));
  expect(log.lines.map((line) => line.fields)).toEqual(
    warned ? [{ limit: Number(soft), hardLimit: hard, recommended: 65_536 }] : [],
  );
});

test("a system that does not tell is not warned about", () => {
  const log = recordingLogger();
  warnAboutLowFdLimit(log, "");
  expect(log.lines).toEqual([]);
});
