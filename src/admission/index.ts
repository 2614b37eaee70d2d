export type { AdmissionRequest, Verdict } from "./core/review.ts";
export type { Reviewer } from "./review-handler.ts";
export { type AdmissionServer, startAdmissionServer } from "./start-admission-server.ts";
