/** A deliberate mistake in the product: texts of a file, and others in their place. */
export interface Planted {
  name: string
  file: string
  edits: readonly { find: string; put: string }[]
}

/** @param texts a text and what stands in its place, once or several times */
const plant = (name: string, file: string, ...texts: string[]): Planted => ({
  name,
  file: `api/${file}`,
  edits: texts.flatMap((find, at) => (at % 2 === 0 ? [{ find, put: texts[at + 1] ?? '' }] : [])),
})

/** The mistakes that the simulation must find; each was, or could be, made by a person in a hurry. */
export const planted: readonly Planted[] = [
  // Operations
  plant(
    'a lease is not looked at when work is claimed',
    'operations/store.ts',
    "eb('lease_until', '<=', look.now), isFeasible",
    'isFeasible',
    ".where('subject_id', 'not in', busy)",
    '',
  ),
  plant(
    'a step is saved by a process that lost its lease',
    'operations/store.ts',
    "    .where('lease_owner', '=', by.owner)\n",
    '',
  ),
  plant(
    'an operation is ended by a process that lost its lease',
    'operations/ends.ts',
    "    .where('lease_owner', '=', owner)\n    .where('status', '=', 'running')\n",
    '',
  ),
  plant(
    'the end of a canceled operation has consequences',
    'operations/ends.ts',
    'if (rows.length < ends.length) throw new NotOurs()',
    '',
  ),
  plant(
    'consequences are written outside of the transaction',
    'operations/ends.ts',
    'for (const { write } of inOrder) await write?.(tx)',
    'for (const { write } of inOrder) await write?.(db)',
  ),
  plant(
    'leases of a dead process are never released',
    'operations/store.ts',
    ".set(free).where('lease_owner', '=', owner)",
    ".set(free).where('lease_owner', '=', '')",
  ),
  plant(
    'a lease of a pause is kept',
    'operations/engine.ts',
    'const pause = { next_run_at: now + result.afterMs, lease_owner: null, lease_until: 0 }',
    'const pause = { next_run_at: now + result.afterMs }',
  ),
  plant(
    'an operation waits for its own lease',
    'operations/engine.ts',
    'const pause = { next_run_at: now + result.afterMs, lease_owner: null, lease_until: 0 }',
    'const pause = { next_run_at: now + result.afterMs, lease_owner: null, lease_until: now + 1e12 }',
  ),
  plant('data of an ended operation is kept', 'operations/ends.ts', "      data: '{}',\n", ''),
  plant(
    'a canceled operation keeps its status',
    'operations/operations.ts',
    ".set({ status: 'canceled', finished_at: now, data: '{}' })",
    ".set({ finished_at: now, data: '{}' })",
  ),
  plant(
    'operations of all subjects are canceled',
    'operations/operations.ts',
    "    .where('subject_id', '=', subject.subject_id)\n    .where(isActive())\n    .returning(['operation_id', 'type', 'created_at', 'started_at'])",
    "    .where(isActive())\n    .returning(['operation_id', 'type', 'created_at', 'started_at'])",
  ),
  // Money
  plant(
    'charges are booked outside of a transaction',
    'billing/metering.ts',
    '      .transaction()\n      .execute((tx) => chargeBatch(tx, items, now))\n      .catch',
    '      .connection()\n      .execute((tx) => chargeBatch(tx, items, now))\n      .catch',
  ),
  plant(
    'a meter is not moved',
    'billing/metering.ts',
    "        charged_until: eb.ref('excluded.charged_until'),\n",
    '',
  ),
  plant(
    'a meter that another process moved is charged again',
    'billing/metering.ts',
    "      .where('due_at', '<=', now)\n      .returningAll()",
    '      .returningAll()',
  ),
  plant(
    'the last part of an hour is free',
    'billing/metering.ts',
    'until: Math.max(meter.charged_until, wholeHour(now)),',
    'until: Math.max(meter.charged_until, wholeHour(now) - 1000),',
  ),
  plant(
    'the end of a rate is not charged',
    'billing/rates.ts',
    'const at = Math.max(now, meter.charged_until, last?.ends_at ?? last?.starts_at ?? 0)',
    'const at = now',
  ),
  plant(
    'a second price begins before the first has ended',
    'billing/rates.ts',
    'if (last?.ends_at === null) await endRate(tx, item_id, last.starts_at, at)',
    '',
  ),
  plant(
    'a meter does not run again after a pause',
    'billing/rates.ts',
    'if (meter.due_at !== null || !price) return',
    'return',
  ),
  plant(
    'the balance of an entry is that of before',
    'billing/ledger.ts',
    'balance_after: ledger.balance,',
    'balance_after: balance_before,',
  ),
  plant('a balance is not saved', 'billing/ledger.ts', "        balance: eb.ref('excluded.balance'),\n", ''),
  plant(
    'a reference is booked twice',
    'billing/ledger.ts',
    'if (earlier) return { entry: earlier, isNew: false }',
    '',
  ),
  plant(
    'payments do not count as paid',
    'billing/ledger.ts',
    "if (ledger && entry.type === 'payment') ledger.paid += amount",
    '',
  ),
  plant(
    'a suspended server is billed',
    'servers/suspension.ts',
    'if (server.billed_since !== null) await billServer(tx, server, false, now)',
    '',
  ),
  plant(
    'a resumed server is free',
    'servers/suspension.ts',
    'if (server.billed_since !== null) await billServer(tx, server, true, now)',
    '',
  ),
  plant(
    'a server whose balance is used up runs on',
    'servers/suspension.ts',
    'return (await fundsLeft(tx, account_id)) > 0 ? null : SUSPENDED',
    'return null',
  ),
  plant('a deleted server is billed', 'servers/servers.ts', 'await this.#endBilling(tx, server, active)', ''),
  plant(
    'a new server is free',
    'servers/lifecycle/procedures.ts',
    'await beginRate(tx, billedServer(server), server, billedFrom)',
    '{}',
  ),
  plant(
    'a resized server is billed as before',
    'servers/lifecycle/procedures.ts',
    'await billServer(tx, { ...server, ...ordered, ...backups }, true, now)',
    '',
  ),
  // Servers
  plant(
    'a resize that failed keeps its reservation',
    'servers/lifecycle/procedures.ts',
    'await release(tx, server, growth, 0)',
    '',
  ),
  plant(
    'a resize that was canceled keeps its reservation',
    'servers/servers.ts',
    'if (resize) await release(tx, server, resize.growth, 0)',
    '',
  ),
  plant(
    'a deleted server keeps its reservation',
    'servers/lifecycle/procedures.ts',
    'await release(tx, server, server, 1)',
    '',
  ),
  plant(
    'a deleted server counts in its project',
    'servers/lifecycle/procedures.ts',
    'await countInProject(tx, server.account_id, server.project_id, -1)',
    '',
  ),
  plant(
    'a deleted server keeps its ports',
    'servers/lifecycle/procedures.ts',
    'await withdrawPorts(tx, server.server_id, now)',
    '',
  ),
  plant(
    'a deleted server stays in its networks',
    'servers/lifecycle/procedures.ts',
    'await leaveNetworks(tx, server.account_id, networks, server.server_id, now)',
    '',
  ),
  plant(
    'a deleted server keeps its firewalls',
    'servers/lifecycle/procedures.ts',
    'await removeFirewalls(tx, server.server_id)',
    '',
  ),
  plant(
    'a machine is not destroyed',
    'servers/lifecycle/procedures.ts',
    'await driver.destroy(server_id)\n    const { power } = await driver.inspect(server_id)\n    return',
    "const power: string = 'absent'\n    return",
  ),
  plant(
    'a server that failed to start counts as running',
    'servers/lifecycle/procedures.ts',
    "return power === 'running' || (power === 'away' && beganOn)",
    'return true',
  ),
  plant(
    'an operation changes a server that was not locked for it',
    'servers/lifecycle/reconcile.ts',
    'if (server && watchedIn.includes(server.status)) await write(tx, server)',
    'if (server) await write(tx, server)',
  ),
  plant(
    'a machine that died stays down',
    'servers/lifecycle/reconcile.ts',
    'await this.#restart(serverId)\n  }\n\n  /** Starts',
    '}\n\n  /** Starts',
  ),
  plant(
    'leftovers of processes are not swept',
    'servers/lifecycle/reconcile.ts',
    'await endLeftovers(this.#options)',
    '',
  ),
  plant(
    'deleted snapshots stay on their hosts',
    'servers/lifecycle/reconcile.ts',
    'await discardSnapshots(this.#options)',
    '',
  ),
  plant(
    'a stopped server can be stopped',
    'servers/states.ts',
    "stop: ['running', 'error'],",
    "stop: ['running', 'stopped', 'starting', 'error'],",
  ),
  plant(
    'a running server can be resized',
    'servers/states.ts',
    "resize: ['stopped'],",
    "resize: ['stopped', 'running', 'starting'],",
  ),
  plant(
    'a status changes without an event',
    'servers/events.ts',
    "...(hasStatus ? [eventOf('server.status_changed', after, change)] : []),",
    "...(hasStatus && after.status !== 'stopped' ? [eventOf('server.status_changed', after, change)] : []),",
  ),
  // Events, webhooks, requests
  plant(
    'an event gets a position that another has',
    'events/store.ts',
    '.set({ position: last + events.length })',
    '.set({ position: last + events.length - 1 })',
  ),
  plant(
    'positions have gaps',
    'events/store.ts',
    '.set({ position: last + events.length })',
    '.set({ position: last + events.length + 1 })',
  ),
  plant(
    'webhooks miss the events of a batch but the first',
    'events/store.ts',
    'await publish(tx, events)',
    'await publish(tx, events.slice(0, 1))',
  ),
  plant(
    'a webhook that a dead process held is never served',
    'webhooks/store.ts',
    "      .where('due.lease_until', '<=', now)\n",
    "      .where('due.lease_until', '=', 0)\n",
  ),
  plant(
    'a delivery that failed counts as delivered',
    'webhooks/worker.ts',
    "if (error === null) return 'succeeded'",
    "return 'succeeded'",
  ),
  plant(
    'a repeat of a request is carried out again',
    'http/server/idempotency.ts',
    'if (removes !== null && (await this.#insert(claim, { digest, now, madeId: removes ?? null })))',
    'if ((await this.#insert(claim, { digest, now, madeId: removes ?? null })) || true)',
  ),
  plant(
    'a key is free although its first request has created something',
    'http/server/idempotency.ts',
    '.set({ made_id: id })',
    '.set({ made_id: null })',
  ),
  plant(
    'an address is given to two',
    'addresses/taking.ts',
    "    .where('released_at', 'is not', null)\n    .execute()\n}\n\nfunction heldBack",
    '    .execute()\n}\n\nfunction heldBack',
  ),
  plant(
    "another account's server is found",
    'servers/store.ts',
    ".selectAll().where('server_id', '=', serverId).where('account_id', '=', accountId),",
    ".selectAll().where('server_id', '=', serverId),",
  ),
  plant(
    "another account's snapshot is found",
    'snapshots/snapshots.ts',
    "    .where('account_id', '=', accountId)\n    .where('item_type', '=', type)",
    "    .where('item_type', '=', type)",
  ),
  plant(
    'a snapshot that is available is free',
    'snapshots/snapshots.ts',
    'if (price && price.price_hour > 0) await beginRate(tx, billedSnapshot(row), price, now)',
    '',
  ),
  plant(
    'an address is free',
    'addresses/taking.ts',
    'if (row.price_hour > 0) await beginRate(tx, billed(row), row, now)',
    '',
  ),
  // Disks and people
  plant(
    'a deleted volume is billed',
    'volumes/volumes.ts',
    'await changeRate(tx, billedVolume(row), null, now)',
    '',
  ),
  plant(
    'a new volume is free',
    'volumes/volumes.ts',
    'await beginRate(tx, billedVolume(row), price, now)',
    '',
  ),
  plant(
    'a volume takes no room in its pool',
    'volumes/volumes.ts',
    'reserve(size_gb)\n    return row',
    'return row',
  ),
  plant(
    'a deleted volume keeps its room',
    'volumes/procedures.ts',
    'await giveBack(tx, volume, volume.size_gb)',
    '',
  ),
  plant(
    'a volume is detached in its row only',
    'volumes/procedures.ts',
    'await drivers.at(pool).detachVolume(volume_id, server_id)\n      return undefined',
    'return undefined',
  ),
  plant(
    'a deleted server keeps its volumes',
    'servers/lifecycle/procedures.ts',
    'await leaveVolumes(tx, server.server_id, now)',
    '',
  ),
  plant(
    'backups are billed though their server is not',
    'servers/backup-pricing.ts',
    'isBilled && price.price_hour > 0 ? price : null',
    'price.price_hour > 0 ? price : null',
  ),
  plant(
    'a backup that is kept is free',
    'snapshots/backups.ts',
    'if (price.price_hour > 0) await beginRate(tx, billedSnapshot(kept), price, now)',
    '',
  ),
  plant(
    'a server that leaves rescue boots the rescue system',
    'servers/lifecycle/rebuild.ts',
    '      rescue_id: null,\n      rescue_login: null,\n',
    '',
  ),
  plant(
    'a restored server gets the disk of its template',
    'servers/snapshots/snapshots.ts',
    'const change = { snapshot_id: source_id }',
    'const change = {}',
  ),
  plant(
    'the last owner can leave',
    'people/membership/members.ts',
    'if (!(await isLastOwner(tx, member))) return',
    'return',
  ),
  plant(
    'members can do what owners can',
    'people/access.ts',
    'scopes: roleScopes[role] }',
    'scopes: roleScopes.owner }',
  ),
  // Payments
  plant(
    'a payment is booked without its reference',
    'payments/settling.ts',
    'reference: referenceOf(payment, provider_id),\n  })\n  if (payment.saves',
    'reference: null,\n  })\n  if (payment.saves',
  ),
  plant(
    'a repeat opens another payment',
    'payments/yookassa.ts',
    'key: paymentId,',
    'key: String(Math.random()),',
  ),
  plant(
    'a canceled payment counts as paid',
    'payments/settling.ts',
    "if (found.status === 'canceled') return { status: 'canceled', problem: null, url: null }",
    '',
  ),
  plant(
    'refunds at the provider are not booked',
    'payments/yookassa.ts',
    "status === 'succeeded' ? await this.#refundsOf(providerId) : []",
    '[]',
  ),
  // Moves, bank transfers, credit, and what is written to customers
  plant(
    'a bank transfer that is sent again is added up again',
    'transfers/transfers.ts',
    'if (!isNew) return { row, isNew }',
    '',
  ),
  plant(
    'a transaction of the bank is booked without its id',
    'transfers/transfers.ts',
    'reference: `bank:',
    'reference: null && `bank:',
  ),
  plant(
    'a moved server is paid by the account before',
    'billing/hand-over.ts',
    'const taken = { ...item, account_id: to }',
    'const taken = item',
  ),
  plant(
    'both accounts pay the hour in which a server moves',
    'billing/hand-over.ts',
    'account_id: to, charged_until: at,',
    'account_id: to,',
  ),
  plant(
    'a moved server counts in both accounts',
    'servers/moving.ts',
    'await addLoad(tx, server.account_id, { servers: -1, cpu: -cpu, ram_mb: -ram_mb, disk_gb: -disk_gb })',
    '',
  ),
  plant(
    'a moved server leaves its snapshots behind',
    'servers/moving.ts',
    'await moveCopies(tx, copies, { to, now })',
    '',
  ),
  plant(
    'charges do not use credit',
    'credits/credits.ts',
    'const used = Math.min(credit.unspent, rest)',
    'const used = 0',
  ),
  plant(
    'credit that was used up expires nevertheless',
    'credits/credits.ts',
    'const expired = Math.min(unspent, Math.max(0, balance))',
    'const expired = Math.min(credit.amount, Math.max(0, balance))',
  ),
  plant(
    'a code is redeemed more often than it may be',
    'credits/codes.ts',
    "    .whereRef('uses', '<', 'max_uses')\n",
    '',
  ),
  plant(
    'a closed complaint can be changed',
    'abuse/complaints.ts',
    '    if (row.closed_at !== null)\n      throw',
    '    if (row.closed_at === 0)\n      throw',
  ),
  plant(
    'the mails of an announcement have no end',
    'announcements/mailing.ts',
    '{ mailed_at: clock.now() }',
    '{ mailed_to: due.mailed_to }',
  ),
]
