import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createMachineFiles } from "../../../../image/machine-files.ts";
import { writeArchive, writeIndex, writeLayer, writeManifest } from "../../../../image/oci.ts";
import { link, withFolders } from "../../../../image/root-filesystem.ts";
import { PAUSE_IMAGE } from "./node-files.ts";

/** The image of the container that holds a pod's namespaces: a program that waits. Returns the archive's path. */
export async function buildPauseImage(folder: string): Promise<string> {
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const files = createMachineFiles(architecture, "");
  files.add("/usr/bin/sleep");
  const entries = withFolders([...files.entries.values(), link("lib64", "usr/lib64"), link("lib", "usr/lib")]);
  mkdirSync(folder, { recursive: true });
  const layers = [await writeLayer(folder, "sleep", entries, 0)];
  const config = { Entrypoint: ["/usr/bin/sleep", "infinity"], User: "65535:65535" };
  const written = writeManifest(folder, layers, { architecture, createdSeconds: 0, config });
  const named = writeIndex(folder, [PAUSE_IMAGE], [written]);
  const archive = join(folder, "pause.tar");
  await writeArchive(archive, folder, { names: [PAUSE_IMAGE], named, images: [written] });
  return archive;
}
