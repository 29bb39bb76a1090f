import { settings } from '../../settings.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from './paging.ts'

/** The introduction to the API's description. @param url the address at which the API is mounted */
export function firstPage(url: string): string {
  const [reads, writes, anonymous] = settings.rateLimits.fallback.split(',')
  const base = url.startsWith('http') ? url : `$BERTH_URL${url}`
  return `Rent virtual machines by the hour: order them, follow their operations, read their usage and costs.

## Tokens

Every request needs a token of your account. The first one comes from the operator of this installation: \`npm start\` prints one for a demo account, and \`npx berthd token create\` creates one for any account. With it, create one for each of your programs, with no more scopes than it needs: \`POST /account/tokens\`, or \`berth token create\` on the command line.

\`\`\`sh
curl -H "Authorization: Bearer $BERTH_TOKEN" \\
  "${base}/account/me"
\`\`\`

${base === url ? '' : '`BERTH_URL` is the address of this installation, such as `http://127.0.0.1:8080`: `npm start` prints it. '}The value of a token is shown only once, when it is created. Write scopes do not include reading: a program that does both needs both.

## Conventions

Bodies are JSON in UTF-8, with names in snake_case. Ids are UUIDs. Times are RFC 3339 in UTC. Money is a decimal string in rubles, never a float; a month is 730 hours. A field that is \`null\` has no value, or its value is not known; its description says which. Unknown fields in a request are rejected; ignore those in replies, as fields may be added.

## Waiting for operations

Creating, starting, stopping, rebooting, resizing and deleting a server takes time: the reply is 202 with an operation, or with the server whose \`current_operation\` it is. \`GET /operations/{operation_id}?wait=60\` replies when the operation has finished, or after 60 seconds. Repeat the request until \`finished_at\` is set, then look at \`status\`. When a start has \`succeeded\`, you can log in to the server. Instead of waiting, follow \`GET /events/stream\`, or use a webhook.

## Errors

Errors are problem documents (RFC 9457, \`application/problem+json\`). Act on \`code\`, which is stable; \`detail\` explains to people what happened and what to do. Some codes have further members, such as \`errors\` of \`validation_failed\`, which lists every mistake with a JSON Pointer. Quote the \`request_id\` when you report a problem to the operator. An object of another account is not found: 404.

## Repeating a request

\`GET\`, \`PATCH\` and \`DELETE\` can be repeated as they are. Give each \`POST\` an \`Idempotency-Key\`, such as a UUID: for 24 hours a repeat with the same key and body gets the first reply, and nothing is created twice, even if the connection broke before the reply. A repeated \`DELETE\` with such a key gets the first reply too; without one it is a 404. If a reply has \`Retry-After\`, wait that many seconds before you repeat the request.

## Paging

Lists \`{items, total}\` have up to ${MAX_LIMIT} items per page (\`limit\`, default: ${DEFAULT_LIMIT}), from \`offset\` on. The \`Link\` header has the addresses of the other pages. Events are read with a cursor instead: \`after\`.

## Rate limits

By default ${reads} reads and ${writes} writes a minute for each person, as many for each account, shared by its tokens, and ${anonymous} requests a minute for each address without a valid token. A minute's worth may be used at once. Every reply has \`RateLimit-Policy\` and \`RateLimit\` with the limit that applies and what is left of it. Requests beyond the limit get a 429 with \`Retry-After\`.`
}
