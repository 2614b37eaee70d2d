export { type AdmissionRequest, buildAnswer, type ParsedReview, parseReview, type Verdict } from "./core/review.ts";
export type { Reviewer } from "./review-handler.ts";
export { type AdmissionServer, startAdmissionServer } from "./start-admission-server.ts";
