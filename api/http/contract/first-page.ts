import { settings } from '../../settings.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from './paging.ts'

/** The introduction to the API's description. @param url the address at which the API is mounted */
export function firstPage(url: string): string {
  const [reads, writes, anonymous] = settings.rateLimits.fallback.split(',')
  return `Rent virtual machines by the hour: order them, follow their operations, read their usage and costs.

${firstServer(url.startsWith('http') ? url.replace(/\/v1$/, '') : null)}

## Tokens

Every request needs a token of your account. Create one for each of your programs, with no more scopes than it needs: in the console, with \`POST /account/tokens\`, or with \`berth token create\`. Its value is shown only once. Write scopes do not include reading: a program that does both needs both.

## Conventions

Bodies are JSON in UTF-8, with names in snake_case. Ids are UUIDs. Times are RFC 3339 in UTC. Money is a decimal string in rubles, never a float; a month is 730 hours. A field that is \`null\` has no value, or its value is not known; its description says which. Unknown fields and query parameters in a request are rejected; ignore unknown fields in replies, as fields may be added.

## Waiting for operations

Creating, starting, stopping, rebooting, resizing, rebuilding and deleting a server, or setting its password, takes time: the reply is 202 with an operation, or with the server whose \`current_operation\` it is. \`GET /operations/{operation_id}?wait=60\` replies when the operation has finished, or after 60 seconds. Repeat the request until \`finished_at\` is set, then look at \`status\`. When a start has \`succeeded\`, you can log in to the server. Instead of waiting, follow \`GET /events/stream\`, or use a webhook.

## Errors

Errors are problem documents (RFC 9457, \`application/problem+json\`). Act on \`code\`, which is stable; \`detail\` explains to people what happened and what to do. Some codes have further members, such as \`errors\` of \`validation_failed\`, which lists every mistake with a JSON Pointer. Quote the \`request_id\` when you report a problem to the operator. An object of another account is not found: 404.

## Repeating a request

\`GET\`, \`PATCH\`, \`PUT\` and \`DELETE\` can be repeated as they are. Give each \`POST\` an \`Idempotency-Key\`, such as a UUID: for 24 hours a repeat with the same key and body gets the first reply, and nothing is created twice, even if the connection broke before the reply. A repeated \`DELETE\` with such a key gets the first reply too; without one it is a 404. If a reply has \`Retry-After\`, wait that many seconds before you repeat the request.

## Paging

Lists \`{items, total}\` have up to ${MAX_LIMIT} items per page (\`limit\`, default: ${DEFAULT_LIMIT}), from \`offset\` on. The \`Link\` header has the addresses of the other pages. Events are read with a cursor instead: \`after\`.

## Rate limits

By default ${reads} reads and ${writes} writes a minute for each person, as many for each account, shared by its tokens, and ${anonymous} requests a minute for each address without a valid token. A minute's worth may be used at once. Every reply has \`RateLimit-Policy\` and \`RateLimit\` with the limit that applies and what is left of it. Requests beyond the limit get a 429 with \`Retry-After\`.`
}

/**
 * The steps from a new token to a first server.
 * @param known the address of the installation, if it is known
 */
function firstServer(known: string | null): string {
  return `## A first server

1. Create a token in the web console, on the page **API tokens**${known ? ` (${known}/account/tokens)` : ''}, with the scopes \`servers:read\` and \`servers:write\`. If this installation has no console, its operator gives you a token.

   \`\`\`sh
   ${known ? '' : '# The address of this page, up to /v1:\n   '}export BERTH_URL=${known ?? 'https://cloud.example.com'}
   export AUTH="Authorization: Bearer berth_…"
   \`\`\`

2. See what is on offer: zones, operating systems and sizes.

   \`\`\`sh
   curl -H "$AUTH" "$BERTH_URL/v1/zones"
   curl -H "$AUTH" "$BERTH_URL/v1/templates"
   curl -H "$AUTH" \\
     "$BERTH_URL/v1/pricing/presets?zone_slug=local-1&cpu_type=amd"
   \`\`\`

3. Order a server by the slugs in these lists; the reply has its \`server_id\`. \`POST /pricing/quote\` takes the same body and only returns the price.

   \`\`\`sh
   curl -H "$AUTH" "$BERTH_URL/v1/servers" \\
     -H "Content-Type: application/json" \\
     -H "Idempotency-Key: my-first-server" \\
     -d '{
       "name": "web-1",
       "zone_slug": "local-1",
       "cpu_type": "amd",
       "template": "debian-12",
       "plan_type": "preset",
       "preset": "nano"
     }'
   \`\`\`

4. Get its details until \`ssh.is_ready\` is true, then log in with \`ssh.command\` and \`ssh.password\`. To log in with a key instead, add it in the console or by \`POST /account/ssh_keys\`, and send its id in \`ssh_key_ids\` with the order.

   \`\`\`sh
   export SERVER=<server_id>
   curl -H "$AUTH" "$BERTH_URL/v1/servers/$SERVER/details"
   \`\`\`

5. Delete it when you no longer need it: a stopped server still costs money.

   \`\`\`sh
   curl -H "$AUTH" -X DELETE "$BERTH_URL/v1/servers/$SERVER"
   \`\`\`

The command line does the same with \`berth login $BERTH_URL\`, \`berth server create web-1 --template debian-12 --preset nano\` and \`berth server ssh web-1\`.`
}
