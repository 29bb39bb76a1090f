/**
 * Queries that find nothing while the promises hold, each under its promise as a sentence. They can run at any moment,
 * on committed data.
 */
export const always: Readonly<Record<string, string>> = {
  'a subject has one active operation': `
    SELECT subject_type || ' ' || subject_id AS what FROM operations WHERE finished_at IS NULL
    GROUP BY subject_type, subject_id HAVING count(*) > 1`,
  'an operation has ended exactly if it has a final status': `
    SELECT operation_id || ' ' || status AS what FROM operations
    WHERE (status IN ('pending', 'running')) <> (finished_at IS NULL)`,
  'an operation that has ended keeps no data': `
    SELECT operation_id || ' ' || status AS what FROM operations
    WHERE finished_at IS NOT NULL AND data NOT IN ('', '{}')`,
  'an operation that waits has no lease, and one with a lease has an owner': `
    SELECT operation_id || ' ' || status AS what FROM operations
    WHERE (status = 'pending' AND lease_until <> 0) OR (lease_until <> 0 AND lease_owner IS NULL)`,
  'an operation that pauses has no lease': `
    SELECT operation_id || ' ' || type AS what FROM operations WHERE finished_at IS NULL AND lease_until > 0
      AND next_run_at BETWEEN lease_until - 29999 AND lease_until - 10000`,
  'a process that is known to be dead holds no operation for long': `
    SELECT operation_id || ' ' || type AS what FROM operations WHERE finished_at IS NULL
      AND lease_until BETWEEN simulated_now() + 1 AND simulated_now() + 15000
      AND lease_owner NOT IN (SELECT process_id FROM processes) AND EXISTS (SELECT 1 FROM processes)`,
  'an operation that succeeded is complete': `
    SELECT type || ' ' || operation_id || ' ' || progress AS what FROM operations
    WHERE status = 'succeeded' AND progress <> 100`,
  'an operation that failed says why, and no other does': `
    SELECT operation_id || ' ' || status AS what FROM operations
    WHERE (status = 'failed') <> (error_code IS NOT NULL)`,
  'a deletion that has begun ends only once it is done': `
    SELECT type || ' ' || operation_id AS what FROM operations
    WHERE type IN ('delete', 'delete_volume') AND status = 'failed'`,
  'a transient status belongs to an active operation of its type': `
    SELECT s.server_id || ' ' || s.status AS what FROM servers s
    JOIN (VALUES ('creating', 'create'), ('starting', 'start'), ('stopping', 'stop'), ('rebooting', 'reboot'),
      ('resizing', 'resize'), ('rebuilding', 'rebuild'), ('resetting_password', 'reset_password'),
      ('restoring', 'restore'), ('rescuing', 'rescue'), ('unrescuing', 'unrescue'), ('deleting', 'delete')) t ON t.column1 = s.status
    WHERE s.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.finished_at IS NULL
      AND o.subject_type = 'server' AND o.subject_id = s.server_id AND o.type = t.column2)`,
  'a server with a stable status has no active operation but a snapshot': `
    SELECT s.server_id || ' ' || s.status || ' ' || o.type AS what FROM servers s
    JOIN operations o ON o.subject_type = 'server' AND o.subject_id = s.server_id AND o.finished_at IS NULL
    WHERE s.status IN ('running', 'stopped', 'error', 'suspended')
      AND NOT (o.type = 'snapshot' AND s.copying IS NOT NULL)
      AND NOT (o.type = 'backup' AND s.backing_up IS NOT NULL)`,
  'a server that is copied has an active snapshot': `
    SELECT s.server_id AS what FROM servers s WHERE s.copying IS NOT NULL AND s.deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.finished_at IS NULL AND o.type = 'snapshot'
        AND o.subject_id = s.server_id)`,
  'a server that is backed up has an active backup': `
    SELECT s.server_id AS what FROM servers s WHERE s.backing_up IS NOT NULL AND s.deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.finished_at IS NULL AND o.type = 'backup'
        AND o.subject_id = s.server_id)`,
  'a server that left rescue is not in it': `
    SELECT s.server_id AS what FROM servers s JOIN operations o ON o.operation_id = s.rescue_id
    JOIN operations u ON u.subject_id = s.server_id AND u.type = 'unrescue' AND u.status = 'succeeded'
      AND u.rowid > o.rowid WHERE s.deleted_at IS NULL`,
  'a deleted server has nothing left to carry out, and holds nothing': `
    SELECT s.server_id AS what FROM servers s WHERE s.deleted_at IS NOT NULL AND (s.number IS NOT NULL
      OR s.ipv4 IS NOT NULL OR s.ssh_port IS NOT NULL
      OR EXISTS (SELECT 1 FROM operations o WHERE o.subject_id = s.server_id AND o.finished_at IS NULL)
      OR EXISTS (SELECT 1 FROM ports p WHERE p.server_id = s.server_id)
      OR EXISTS (SELECT 1 FROM network_servers n WHERE n.server_id = s.server_id)
      OR EXISTS (SELECT 1 FROM volumes v WHERE v.server_id = s.server_id AND v.deleted_at IS NULL)
      OR EXISTS (SELECT 1 FROM firewall_servers f WHERE f.server_id = s.server_id))`,
  "an account's counters are the sums of its servers": `
    SELECT a.account_id || ' ' || a.servers_used || ' ' || a.cpu_used || ' ' || a.disk_gb_used AS what
    FROM accounts a LEFT JOIN held h ON h.account_id = a.account_id
    WHERE a.servers_used <> coalesce(h.servers, 0) OR a.cpu_used <> coalesce(h.cpu, 0)
      OR a.ram_mb_used <> coalesce(h.ram_mb, 0) OR a.disk_gb_used <> coalesce(h.disk_gb, 0)`,
  'the usage of a pool is the sum of its servers and volumes': `
    WITH h AS MATERIALIZED (SELECT coalesce(sum(cpu), 0) AS cpu, coalesce(sum(ram_mb), 0) AS ram_mb,
      coalesce(sum(disk_gb), 0) + (SELECT coalesce(sum(size_gb), 0) FROM volumes WHERE deleted_at IS NULL)
        AS disk_gb FROM held)
    SELECT p.pool || ' ' || p.cpu || ' ' || p.ram_mb || ' ' || p.disk_gb AS what FROM pool_usage p, h
    WHERE p.cpu <> h.cpu OR p.ram_mb <> h.ram_mb OR p.disk_gb <> h.disk_gb`,
  "a project's counter is the number of its servers": `
    SELECT p.project_id || ' ' || p.server_count AS what FROM projects p WHERE p.server_count <>
      (SELECT count(*) FROM servers s WHERE s.project_id = p.project_id AND s.deleted_at IS NULL)`,
  'no account has more than its quota': `
    SELECT account_id || ' ' || servers_used AS what FROM accounts
    WHERE servers_used > json_extract(quotas, '$.servers')`,
  'an account has at most its quotas of volumes, snapshots and images': `
    SELECT a.account_id || ' ' || kind AS what FROM accounts a JOIN (
      SELECT account_id, 'volumes' AS kind, count(*) AS used FROM volumes WHERE deleted_at IS NULL GROUP BY 1
      UNION ALL SELECT account_id, 'volumes_gb', sum(size_gb) FROM volumes WHERE deleted_at IS NULL GROUP BY 1
      UNION ALL SELECT account_id, item_type || 's', count(*) FROM snapshots
        WHERE deleted_at IS NULL AND item_type <> 'backup' GROUP BY 1, 2) u USING (account_id)
    WHERE used > coalesce(json_extract(quotas, '$.' || kind), CASE kind WHEN 'volumes' THEN 20
      WHEN 'volumes_gb' THEN 4096 WHEN 'snapshots' THEN 20 ELSE 10 END)`,
  'pending files are within the quota of their account': `
    SELECT a.account_id AS what FROM accounts a JOIN snapshots n USING (account_id)
    WHERE n.deleted_at IS NULL AND n.status IN ('uploading', 'creating') AND n.item_type IN ('image', 'iso')
    GROUP BY a.account_id
    HAVING sum(n.content_bytes) > 1073741824 * coalesce(json_extract(a.quotas, '$.image_files_gb'), 200)`,
  'an upload has at most the announced bytes, and an image has all of them': `
    SELECT snapshot_id || ' ' || status || ' ' || uploaded_bytes AS what FROM snapshots
    WHERE uploaded_bytes > content_bytes
      OR (status <> 'uploading' AND uploaded_bytes > 0 AND uploaded_bytes <> content_bytes AND deleted_at IS NULL)`,
  'a copy that is available has a size': `
    SELECT snapshot_id AS what FROM snapshots
    WHERE status = 'available' AND deleted_at IS NULL AND coalesce(bytes, 0) <= 0`,
  'an account with people has an owner': `
    SELECT account_id AS what FROM members GROUP BY account_id HAVING sum(role = 'owner') = 0`,
  'a port of the host forwards to one server': `
    SELECT protocol || ' ' || host_port AS what FROM ports GROUP BY protocol, host_port HAVING count(*) > 1`,
  'a port of the host is in the range': `
    SELECT host_port AS what FROM ports WHERE host_port NOT BETWEEN 22000 AND 22199`,
  'a number belongs to one server': `
    SELECT number AS what FROM servers WHERE deleted_at IS NULL GROUP BY number HAVING count(*) > 1`,
  'an address is held once': `
    SELECT address AS what FROM addresses WHERE released_at IS NULL GROUP BY address HAVING count(*) > 1`,
  'a server has the addresses that are given to it': `
    SELECT s.server_id || ' ' || coalesce(s.ipv4, '-') || ' ' || coalesce(a.address, '-') AS what FROM servers s
    LEFT JOIN addresses a ON a.server_id = s.server_id AND a.family = 'ipv4' AND a.released_at IS NULL
    WHERE s.deleted_at IS NULL AND s.ipv4 IS NOT a.address`,
  'an address belongs to the account of its server': `
    SELECT a.address AS what FROM addresses a JOIN servers s ON s.server_id = a.server_id
    WHERE a.released_at IS NULL AND (a.account_id <> s.account_id OR s.deleted_at IS NOT NULL)`,
  'a network assigns an address once': `
    SELECT network_id || ' ' || ipv4 AS what FROM network_servers GROUP BY network_id, ipv4 HAVING count(*) > 1`,
  'the networks in the row of a server are those that it has joined': `
    SELECT s.server_id || ' ' || s.networks AS what FROM servers s WHERE s.deleted_at IS NULL
      AND (SELECT count(*) FROM network_servers n WHERE n.server_id = s.server_id)
        <> json_array_length(s.networks)`,
  'a network has servers of its own account only': `
    SELECT n.network_id AS what FROM network_servers n JOIN networks w USING (network_id)
    JOIN servers s USING (server_id) WHERE w.account_id <> s.account_id`,
  'a firewall has servers of its own account only': `
    SELECT n.firewall_id AS what FROM firewall_servers n JOIN firewalls w USING (firewall_id)
    JOIN servers s USING (server_id) WHERE w.account_id <> s.account_id`,
  'events have positions without gaps': `
    SELECT count(position) || ' of ' || max(position) AS what FROM events HAVING count(position) > 0
      AND (max(position) - min(position) + 1 <> count(position)
        OR max(position) <> (SELECT max(position) FROM event_relay))`,
  'the balance is that of the last entry': `
    SELECT l.account_id || ' ' || l.balance AS what FROM ledgers l
    LEFT JOIN transactions t ON t.account_id = l.account_id AND t.sequence = l.sequence
    WHERE l.balance <> coalesce(t.balance_after, 0)`,
  'a reference is booked once': `
    SELECT reference AS what FROM transactions WHERE reference IS NOT NULL
    GROUP BY reference HAVING count(*) > 1`,
  'a payment that succeeded has its entry, and no other has one': `
    SELECT p.payment_id || ' ' || p.status AS what FROM payments p
    LEFT JOIN transactions t ON t.reference = p.provider || ':' || p.provider_id
    WHERE (p.status = 'succeeded') <> (t.reference IS NOT NULL) OR t.amount <> p.amount
      OR t.account_id <> p.account_id`,
  'an account has one automatic payment at a time': `
    SELECT account_id AS what FROM payments WHERE is_automatic = 1 AND status = 'pending'
    GROUP BY account_id HAVING count(*) > 1`,
  'a payment is refunded up to its amount at most': `
    SELECT payment_id AS what FROM payments WHERE refunded + disputed > amount`,
  'an item has one price at a time': `
    SELECT a.item_id || ' ' || a.starts_at AS what FROM rates a JOIN rates b ON b.item_id = a.item_id
      AND b.starts_at > a.starts_at AND (a.ends_at IS NULL OR a.ends_at > b.starts_at)`,
  'a rate is not ended before it began': `
    SELECT item_id AS what FROM rates WHERE ends_at <= starts_at`,
  'a server that is billed has a rate, and no other has': `
    SELECT s.server_id || ' ' || s.status AS what FROM servers s
    LEFT JOIN rates r ON r.item_id = s.server_id AND r.ends_at IS NULL
    WHERE (s.billed_since IS NOT NULL AND s.deleted_at IS NULL AND s.status NOT IN ('suspended', 'deleting'))
      <> (r.item_id IS NOT NULL)`,
  'a server is billed at its own price': `
    SELECT s.server_id || ' ' || s.price_hour || ' ' || r.price_hour AS what FROM servers s
    JOIN rates r ON r.item_id = s.server_id AND r.ends_at IS NULL
    WHERE r.price_hour <> s.price_hour AND s.status NOT IN ('resizing')`,
  'a running server is billed': `
    SELECT server_id AS what FROM servers WHERE status = 'running' AND billed_since IS NULL`,
  'an address that is held is billed, and no other is': `
    SELECT a.address_id AS what FROM addresses a
    LEFT JOIN rates r ON r.item_id = a.address_id AND r.ends_at IS NULL
    WHERE (a.released_at IS NULL AND a.price_hour > 0) <> (r.item_id IS NOT NULL)`,
  'a snapshot that is available is billed, and no other is': `
    SELECT a.snapshot_id || ' ' || a.status AS what FROM snapshots a
    LEFT JOIN rates r ON r.item_id = a.snapshot_id AND r.ends_at IS NULL
    WHERE (a.status = 'available' AND a.deleted_at IS NULL AND a.price_hour > 0) <> (r.item_id IS NOT NULL)`,
  'a volume that changes has its operation, and no other has one': `
    SELECT v.volume_id || ' ' || v.status || ' ' || coalesce(o.type, '-') AS what FROM volumes v
    LEFT JOIN operations o ON o.subject_type = 'volume' AND o.subject_id = v.volume_id AND o.finished_at IS NULL
    WHERE v.deleted_at IS NULL AND (v.status = 'attaching' AND o.type IS NOT 'attach_volume'
      OR v.status = 'detaching' AND o.type IS NOT 'detach_volume'
      OR v.status = 'deleting' AND o.type IS NOT 'delete_volume'
      OR v.status IN ('attached', 'available') AND coalesce(o.type, 'resize_volume') <> 'resize_volume')`,
  'a volume has a server exactly while it is attached': `
    SELECT v.volume_id || ' ' || v.status AS what FROM volumes v LEFT JOIN servers s USING (server_id)
    WHERE (v.status IN ('attaching', 'attached', 'detaching')) <> (v.server_id IS NOT NULL)
      OR s.account_id <> v.account_id OR (v.deleted_at IS NOT NULL AND v.server_id IS NOT NULL)`,
  'a volume that is not deleted is billed at its own price, and no other is': `
    SELECT v.volume_id || ' ' || v.status || ' ' || coalesce(r.price_hour, '-') AS what FROM volumes v
    LEFT JOIN rates r ON r.item_id = v.volume_id AND r.ends_at IS NULL
    WHERE CASE WHEN v.deleted_at IS NULL AND v.status <> 'deleting' AND v.price_hour > 0
      THEN v.price_hour END IS NOT r.price_hour`,
  'backups are billed while their server is, at their own price': `
    SELECT s.server_id || ' ' || s.status || ' ' || coalesce(r.price_hour, '-') AS what FROM servers s
    LEFT JOIN rates r ON r.item_id = s.backup_item AND r.ends_at IS NULL
    WHERE s.status <> 'resizing' AND CASE WHEN s.backup_hour IS NOT NULL AND s.backup_price_hour > 0
        AND s.billed_since IS NOT NULL AND s.deleted_at IS NULL AND s.status NOT IN ('suspended', 'deleting')
      THEN s.backup_price_hour END IS NOT r.price_hour`,
  'a copy belongs to the account of its server': `
    SELECT n.snapshot_id AS what FROM snapshots n JOIN servers s USING (server_id)
    WHERE n.account_id <> s.account_id AND n.item_type <> 'image' AND n.deleted_at IS NULL`,
  'a port belongs to the account of its server': `
    SELECT p.port_id AS what FROM ports p JOIN servers s USING (server_id) WHERE p.account_id <> s.account_id`,
  'a server is in a project of its account': `
    SELECT s.server_id AS what FROM servers s JOIN projects p USING (project_id)
    WHERE s.deleted_at IS NULL AND p.account_id <> s.account_id`,
  'an item with a rate has a meter that runs': `
    SELECT r.item_id AS what FROM rates r LEFT JOIN billing_meters m ON m.item_id = r.item_id
    WHERE r.ends_at IS NULL AND m.due_at IS NULL`,
  'a meter runs until its rates are charged to their ends': `
    SELECT m.item_id || ' ' || m.charged_until AS what FROM billing_meters m JOIN rates r USING (item_id)
    WHERE m.due_at IS NULL AND r.ends_at > m.charged_until`,
  'an item is charged for whole hours': `
    SELECT m.item_id || ' ' || m.charged_until AS what FROM billing_meters m
    JOIN rates o ON o.item_id = m.item_id AND o.ends_at IS NULL
    WHERE m.due_at IS NOT NULL AND m.charged_until % 3600000 <> 0 AND NOT EXISTS (SELECT 1 FROM rates r
      WHERE r.item_id = m.item_id AND m.charged_until IN (r.starts_at, r.ends_at))`,
  'the items of an account are charged to it': `
    SELECT r.item_id AS what FROM rates r JOIN servers s ON s.server_id = r.item_id
    WHERE r.ends_at IS NULL AND r.account_id <> s.account_id
    UNION ALL SELECT r.item_id FROM rates r JOIN snapshots s ON s.snapshot_id = r.item_id
    WHERE r.ends_at IS NULL AND r.account_id <> s.account_id
    UNION ALL SELECT r.item_id FROM rates r JOIN addresses a ON a.address_id = r.item_id
    WHERE r.ends_at IS NULL AND r.account_id <> a.account_id
    UNION ALL SELECT r.item_id FROM servers s JOIN rates r ON r.item_id = s.backup_item
    WHERE r.ends_at IS NULL AND r.account_id <> s.account_id`,
  'a snapshot that is being created has its operation': `
    SELECT n.snapshot_id AS what FROM snapshots n WHERE n.status = 'creating' AND n.deleted_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM operations o WHERE o.operation_id = n.operation_id AND o.finished_at IS NULL)`,
  'a deleted webhook sends nothing': `
    SELECT d.delivery_id AS what FROM deliveries d LEFT JOIN webhooks w USING (webhook_id)
    WHERE w.webhook_id IS NULL`,
  'a code counts each account that has redeemed it': `
    SELECT p.promo_code_id || ' ' || p.uses AS what FROM promo_codes p
    WHERE p.uses <> (SELECT count(*) FROM credits c WHERE c.promo_code_id = p.promo_code_id)
      OR p.uses > p.max_uses`,
  'an account has a trial once': `
    SELECT account_id AS what FROM credits WHERE promo_code_id IS NULL GROUP BY account_id HAVING count(*) > 1`,
  'at most ten invoices of an account are open': `
    SELECT account_id AS what FROM transfers WHERE arrived_at IS NULL AND expires_at > simulated_now() + 7200000
    GROUP BY account_id HAVING count(*) > 10`,
  'an account has at most twenty open complaints': `
    SELECT account_id AS what FROM complaints WHERE closed_at IS NULL GROUP BY account_id HAVING count(*) > 20`,
  'a complaint is closed exactly if it has an outcome, and stays as it is': `
    SELECT complaint_id AS what FROM complaints
    WHERE (closed_at IS NULL) <> (outcome IS NULL) OR closed_at <> updated_at`,
  'an answer to a complaint is kept once': `
    SELECT complaint_id || ' ' || json_extract(m.value, '$.text') AS what FROM complaints, json_each(messages) m
    GROUP BY complaint_id, json_extract(m.value, '$.text') HAVING count(*) > 1`,
  'a complaint has at most ten messages of each side, and one more of the operator': `
    SELECT complaint_id AS what FROM complaints, json_each(messages) m
    GROUP BY complaint_id, json_extract(m.value, '$.author')
    HAVING count(*) > 10 + (json_extract(m.value, '$.author') = 'operator')`,
  'at most twenty announcements are open': `
    SELECT count(*) AS what FROM announcements WHERE ended_at IS NULL
      AND coalesce(ends_at > simulated_now() + 7200000, 1) HAVING count(*) > 20`,
}

/** Promises that hold once everything has settled. */
export const atRest: Readonly<Record<string, string>> = {
  'every operation ends': `
    SELECT type || ' ' || operation_id || ' ' || status || ' ' || step AS what FROM operations
    WHERE finished_at IS NULL`,
  // The lease of a canceled operation may stay in its row, but delays nobody once it has expired.
  'no lease is left': `SELECT operation_id AS what FROM operations WHERE lease_until > simulated_now()`,
  'every event gets its position': `SELECT event_id AS what FROM events WHERE position IS NULL`,
  'no charge is overdue': `SELECT item_id || ' ' || due_at AS what FROM billing_meters WHERE due_at <= simulated_now() - 900000`,
  'every key has its reply': `SELECT key AS what FROM idempotency_keys
    WHERE reply IS NULL AND claimed_until < simulated_now() - 86400000 * 2`,
  'a snapshot that was deleted is removed from the host': `
    SELECT snapshot_id AS what FROM snapshots WHERE deleted_at IS NOT NULL AND discarded = 0
      AND updated_at < simulated_now() - 3600000`,
  'a port that was published is open': `SELECT p.port_id || ' ' || p.status AS what FROM ports p
    JOIN servers s USING (server_id) WHERE p.status <> 'active' AND s.status = 'running'`,
  'an account whose balance is used up has no running servers': `
    SELECT s.server_id AS what FROM servers s JOIN ledgers l USING (account_id) WHERE s.status = 'running'
      AND (l.depleted_since < simulated_now() - 900000 - grace_ms()
        OR (l.balance + l.paid <= 0 AND l.depleted_since < simulated_now() - 900000))`,
  'a suspended server has a reason': `
    SELECT s.server_id AS what FROM servers s JOIN ledgers l USING (account_id)
    JOIN accounts a USING (account_id)
    WHERE s.status = 'suspended' AND a.status = 'active' AND s.suspension_reason IS NULL AND l.balance > 100000000`,
  'a backup that is due is made': `
    SELECT server_id || ' ' || status AS what FROM servers WHERE deleted_at IS NULL
      AND status IN ('running', 'stopped') AND backup_hour IS NOT NULL AND rescue_id IS NULL
      AND (backup_due_at IS NULL OR backup_due_at < simulated_now() - 1200000)`,
  'a server keeps seven backups': `
    SELECT server_id || ' ' || count(*) AS what FROM snapshots WHERE item_type = 'backup'
      AND deleted_at IS NULL AND status = 'available' GROUP BY server_id HAVING count(*) > 7`,
  'an upload that nobody continues is deleted': `
    SELECT snapshot_id AS what FROM snapshots WHERE status = 'uploading' AND deleted_at IS NULL
      AND updated_at < simulated_now() - 3 * 86400000 - 900000`,
  'a backup is deleted a week after its server': `
    SELECT snapshot_id AS what FROM snapshots n WHERE item_type = 'backup' AND n.deleted_at IS NULL
      AND (n.expires_at < simulated_now() - 900000 OR (n.expires_at IS NULL AND NOT EXISTS (SELECT 1
        FROM servers s WHERE s.server_id = n.server_id AND s.deleted_at IS NULL AND s.backup_hour IS NOT NULL)))`,
  'no active webhook stays leased': `
    SELECT webhook_id AS what FROM webhooks JOIN accounts USING (account_id)
    WHERE lease_until <> 0 AND status = 'active'`,
  'a webhook that is due is served': `
    SELECT webhook_id AS what FROM webhooks JOIN accounts USING (account_id)
    WHERE next_run_at < simulated_now() - 900000 AND status = 'active' AND lease_until <= simulated_now()`,
  'a webhook gets every event since it was changed': `
    SELECT w.webhook_id || ' ' || e.type AS what FROM webhooks w JOIN events e USING (account_id)
    WHERE w.deleted_at IS NULL AND w.is_enabled = 1 AND e.type <> 'webhook.test'
      AND e.created_at > simulated_now() - 86400000
      AND e.position > (SELECT max(c.position) FROM events c WHERE c.account_id = w.account_id
        AND c.type LIKE 'webhook.%' AND c.type <> 'webhook.test'
        AND json_extract(c.data, '$.webhook_id') = w.webhook_id)
      AND NOT EXISTS (SELECT 1 FROM deliveries d
        WHERE d.webhook_id = w.webhook_id AND d.event_id = e.event_id)`,
  'the amount that arrived for an invoice is booked to its account': `
    SELECT r.reference || ' ' || r.arrived AS what FROM transfers r
    LEFT JOIN transactions t ON t.description = 'Bank transfer ' || r.reference
    GROUP BY r.transfer_id HAVING r.arrived <> coalesce(sum(t.amount), 0)
      OR (r.arrived_at IS NULL) <> (count(t.amount) = 0) OR max(t.account_id) <> r.account_id`,
  'a credit that is due has ended': `
    SELECT credit_id AS what FROM credits WHERE ended_at IS NULL AND expires_at < simulated_now() - 7200000`,
  'an announcement is mailed': `
    SELECT announcement_id AS what FROM announcements WHERE mailed_at IS NULL AND ended_at IS NULL
      AND created_at < simulated_now() - 1800000 AND coalesce(ends_at > simulated_now(), 1)`,
  'a mail about a complaint is queued when it is due': `
    SELECT complaint_id AS what FROM complaints WHERE letter_at < simulated_now() - 1800000`,
}

/** The sums of resources that servers reserve; a server being resized also reserves its growth. */
export const HELD = `CREATE TEMP VIEW held AS SELECT account_id, count(*) AS servers,
  sum(cpu + coalesce((SELECT sum(json_extract(data, '$.growth.cpu')) FROM operations o
    WHERE o.finished_at IS NULL AND o.type = 'resize' AND o.subject_id = s.server_id), 0)) AS cpu,
  sum(ram_mb + coalesce((SELECT sum(json_extract(data, '$.growth.ram_mb')) FROM operations o
    WHERE o.finished_at IS NULL AND o.type = 'resize' AND o.subject_id = s.server_id), 0)) AS ram_mb,
  sum(disk_gb + coalesce((SELECT sum(json_extract(data, '$.growth.disk_gb')) FROM operations o
    WHERE o.finished_at IS NULL AND o.type = 'resize' AND o.subject_id = s.server_id), 0)) AS disk_gb
  FROM servers s WHERE deleted_at IS NULL GROUP BY account_id`
