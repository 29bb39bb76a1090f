import { ConnectionError, isBerthError, TimeoutError } from './errors.ts'
import type {
  DeviceApproval,
  DeviceCodeEntry,
  DeviceLoginRequest,
  DeviceLoginStart,
  DeviceTokenRequest,
} from './openapi.ts'
import type { Call, CallOptions, Settings } from './request.ts'

/** Logins of programs on machines without a browser (RFC 8628). */
export function deviceLogins({ sleep }: Settings, call: Call) {
  const token = (body: DeviceTokenRequest, options?: CallOptions) =>
    call('POST /device/token', { body }, options)
  return {
    /** The codes: show the person `user_code` and `verification_uri`. */
    start: (body: DeviceLoginRequest, options?: CallOptions) => call('POST /device', { body }, options),
    /** Requests the token once. */
    token,
    /**
     * Polls for the token until a person has decided, as often as the service allows.
     * @throws BerthError access_denied, expired_token
     */
    wait: async ({ device_code, interval, expires_in }: DeviceLoginStart, options?: CallOptions) => {
      let seconds = interval
      for (let waited = 0; ; ) {
        await sleep(seconds * 1000, options?.signal)
        waited += seconds
        try {
          return await token({ device_code }, options)
        } catch (error) {
          // A network error in between is not a decision.
          if (waited >= expires_in || !isWorthAsking(error)) throw error
          if (isBerthError(error, 'slow_down')) seconds += interval
        }
      }
    },
    /** Shows the login that a code belongs to, for the person who is signed in. */
    look: (body: DeviceCodeEntry, options?: CallOptions) => call('POST /device/look', { body }, options),
    approve: (body: DeviceApproval, options?: CallOptions) => call('POST /device/approve', { body }, options),
    deny: (body: DeviceCodeEntry, options?: CallOptions) => call('POST /device/deny', { body }, options),
  }
}

function isWorthAsking(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true
  return (
    isBerthError(error) &&
    (error.status >= 500 || ['authorization_pending', 'slow_down', 'rate_limited'].includes(error.code))
  )
}
