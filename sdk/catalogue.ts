import type { QuoteRequest } from './openapi.ts'
import type { Call, CallOptions, Query } from './request.ts'

export const zones = (call: Call) => ({
  list: (options?: CallOptions) => call('GET /zones', {}, options),
})

export const templates = (call: Call) => ({
  list: (options?: CallOptions) => call('GET /templates', {}, options),
})

export const presets = (call: Call) => ({
  list: (query: Query<'GET /pricing/presets'>, options?: CallOptions) =>
    call('GET /pricing/presets', { query }, options),
})

export const limits = (call: Call) => ({
  /** Limits and unit prices of custom plans. */
  get: (query: Query<'GET /pricing/limits'>, options?: CallOptions) =>
    call('GET /pricing/limits', { query }, options),
})

export const capacity = (call: Call) => ({
  /** The largest server that fits now, for each zone and CPU type. */
  list: (query: Query<'GET /pricing/capacity'> = {}, options?: CallOptions) =>
    call('GET /pricing/capacity', { query }, options),
})

/** The price of a server, and what would block creating it. Creates nothing. */
export const quote = (call: Call) => (body: QuoteRequest, options?: CallOptions) =>
  call('POST /pricing/quote', { body }, options)
