// npm run kubernetes -- get|start|stop: the real Kubernetes of the tests (test/support/kubernetes).
import { importBundled } from "./run-bundled.mjs";

const { runCommand } = await importBundled("test/support/kubernetes/command.ts");
process.exitCode = await runCommand(process.argv.slice(2)).catch((failure) => {
  console.error(failure.message);
  return 1;
});
