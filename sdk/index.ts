// The public interface of the package: the only file that re-exports.
export { Berth, type BerthOptions } from './berth.ts'
export type { ConsoleOptions, ScreenAddress, ServerConsole, SocketClass } from './console.ts'
export {
  BerthError,
  ConnectionError,
  isBerthError,
  OperationFailed,
  type ProblemMembers,
  type ProblemOf,
  TimeoutError,
} from './errors.ts'
export type { BerthEvent, EventsOptions } from './events.ts'
export { ANYWHERE, firewallTemplates } from './firewalls.ts'
export type * from './openapi.ts'
export { abuseKinds, accountStatuses, complaintKinds, cpuTypes, roles, serverStatuses } from './openapi.ts'
export type { OperationFilter, Waitable, WaitOptions } from './operations.ts'
export {
  type ReceivedMessage,
  readWebhook,
  type WebhookChallenge,
  type WebhookMessage,
  WebhookSignatureError,
} from './receiver.ts'
export type { Call, CallOptions, Fetch, Parts, Query, Reply, Route } from './request.ts'
export type { Sleep } from './retries.ts'
export { approximate, type Rate } from './second-currency.ts'
export type { ServerFilter } from './servers.ts'
