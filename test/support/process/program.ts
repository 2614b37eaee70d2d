import { join, resolve } from "node:path";

/** The folder whose bin/ and dist/ tests run: the project, or the copy that global-setup.ts made of them. */
const PROGRAM_FOLDER = process.env.PROGRAM_FOLDER ?? resolve(import.meta.dirname, "../../..");

/** The built program's launcher. */
export const PROGRAM = join(PROGRAM_FOLDER, "bin/pilot-agent");
