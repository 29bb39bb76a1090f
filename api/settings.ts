interface Setting {
  env: string
  flag: string
  fallback: string
  /** Shown in --help and in README's table. */
  help: string
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent']

/** The single table of settings: `--help`, README and the parser use it. */
export const settings = {
  host: { env: 'HOST', flag: '--host', fallback: '127.0.0.1', help: 'address that the API listens on' },
  port: { env: 'PORT', flag: '--port', fallback: '8080', help: 'port of the API' },
  guestHost: {
    env: 'BERTH_GUEST_HOST',
    flag: '--guest-host',
    fallback: 'same as HOST',
    help: 'address that the SSH ports of servers listen on',
  },
  publicName: {
    env: 'BERTH_PUBLIC_NAME',
    flag: '--public-name',
    fallback: 'none',
    help: 'host name of this installation in SSH commands and in the URL of the API',
  },
  dataDir: {
    env: 'BERTH_DATA',
    flag: '--data',
    fallback: './data, or /var/lib/berth',
    help: 'folder for the database, images and machines; see Data folder in README.md',
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    flag: '--database-url',
    fallback: 'none',
    help: 'postgres://user@host/name: PostgreSQL instead of SQLite in the data folder; a password belongs in the variable or ~/.pgpass',
  },
  databaseReplicaUrl: {
    env: 'DATABASE_REPLICA_URL',
    flag: '--database-replica-url',
    fallback: 'none',
    help: 'URL of a streaming replica of the database; lists of events and metrics are read from it, up to a second old',
  },
  role: {
    env: 'BERTH_ROLE',
    flag: '--role',
    fallback: 'all',
    help: 'task of this process, if several share one PostgreSQL: api serves requests, worker runs everything else, all does both',
  },
  databaseConnections: {
    env: 'BERTH_DATABASE_CONNECTIONS',
    flag: '--database-connections',
    fallback: '20',
    help: 'maximum number of connections of this process to PostgreSQL, besides one that is always open',
  },
  catalogFile: {
    env: 'BERTH_CATALOG',
    flag: '--catalog',
    fallback: 'in BERTH_DATA',
    help: 'catalogue file: zones, templates, presets, prices; catalog.yaml in BERTH_DATA if not set',
  },
  compute: {
    env: 'BERTH_COMPUTE',
    flag: '--compute',
    fallback: 'auto',
    help: 'driver that runs the servers: auto, qemu or simulator',
  },
  accel: {
    env: 'BERTH_ACCEL',
    flag: '--accel',
    fallback: 'auto',
    help: 'accelerator of QEMU: auto, kvm or tcg',
  },
  isPublic: {
    env: 'BERTH_PUBLIC',
    flag: '--public',
    fallback: 'off',
    help: 'on: customers may be strangers, so the service refuses to start unless all requirements of berthd check are met',
  },
  sshPorts: {
    env: 'BERTH_SSH_PORTS',
    flag: '--ssh-ports',
    fallback: '22000-22999',
    help: 'range of host ports for servers: SSH, and ports that customers publish',
  },
  graceMs: {
    env: 'BERTH_GRACE_HOURS',
    flag: '--grace-hours',
    fallback: '24',
    help: 'hours that servers keep running after the balance is used up, if the account has ever made a payment',
  },
  keepSuspendedMs: {
    env: 'BERTH_SUSPENDED_DAYS',
    flag: '--suspended-days',
    fallback: '0',
    help: 'days after which servers that stay suspended are deleted, with their data; 0: never',
  },
  keepChargesMs: {
    env: 'BERTH_CHARGES_DAYS',
    flag: '--charges-days',
    fallback: '400',
    help: 'days for which each hourly charge is kept by itself; those of earlier months become one for each server; 0: for ever',
  },
  hasHcloud: {
    env: 'BERTH_HCLOUD',
    flag: '--hcloud',
    fallback: 'off',
    help: 'on: /hcloud/v1 answers tools that speak the hcloud API; see docs/hcloud.md',
  },
  hasConsole: { env: 'BERTH_CONSOLE', flag: '--console', fallback: 'on', help: 'the web console: on or off' },
  rateLimits: {
    env: 'BERTH_RATE_LIMITS',
    flag: '--rate-limits',
    fallback: '600,120,60',
    help: 'requests per minute: reads and writes per person and per account, and requests without a token per address',
  },
  sampleSeconds: {
    env: 'BERTH_SAMPLE_SECONDS',
    flag: '--sample-seconds',
    fallback: '10',
    help: 'seconds between measurements of the servers; must divide 60',
  },
  webhookAllow: {
    env: 'BERTH_WEBHOOK_ALLOW',
    flag: '--webhook-allow',
    fallback: 'none',
    help: 'ranges that webhooks may reach besides the public internet, such as 10.1.0.0/16,fd00::/8',
  },
  rdns: {
    env: 'BERTH_RDNS',
    flag: '--rdns',
    fallback: 'none',
    help: 'name server for reverse DNS names: pdns+https://key@host:8081, rfc2136://key-name:secret@host:53, or file:/path of a file that contains it',
  },
  smtp: {
    env: 'BERTH_SMTP',
    flag: '--smtp',
    fallback: 'none',
    help: 'mail server, as smtp://user:password@host:587 or smtps://…; if not set, mails are written to files in BERTH_DATA/mail',
  },
  mailFrom: {
    env: 'BERTH_MAIL_FROM',
    flag: '--mail-from',
    fallback: 'berth@ the public name',
    help: 'sender address of mails',
  },
  offsite: {
    env: 'BERTH_OFFSITE',
    flag: '--offsite',
    fallback: 'none',
    help: 'place for encrypted copies of backups, snapshots and images: /folder, or s3://key:secret@host/bucket?region=…',
  },
  signUp: {
    env: 'BERTH_SIGN_UP',
    flag: '--sign-up',
    fallback: 'open',
    help: 'who can sign up in the console: open (everybody), invitation (those who are invited) or closed',
  },
  trialCredit: {
    env: 'BERTH_TRIAL_CREDIT',
    flag: '--trial-credit',
    fallback: 'none',
    help: 'credit that a person gets once by signing up, as rubles and the days after which the rest of it expires, such as 300,30',
  },
  oidcIssuer: {
    env: 'BERTH_OIDC_ISSUER',
    flag: '--oidc-issuer',
    fallback: 'none',
    help: 'OpenID Connect provider that people can sign in with, as https://accounts.example.com; see docs/operating.md',
  },
  oidcClientId: {
    env: 'BERTH_OIDC_CLIENT_ID',
    flag: '--oidc-client-id',
    fallback: 'none',
    help: 'client id of this installation at the provider',
  },
  oidcClientSecret: {
    env: 'BERTH_OIDC_CLIENT_SECRET',
    flag: '--oidc-client-secret',
    fallback: 'none',
    help: 'client secret, or file:/path of a file that contains it; other users of the machine can read flags',
  },
  yookassa: {
    env: 'BERTH_YOOKASSA',
    flag: '--yookassa',
    fallback: 'none',
    help: 'payments through YooKassa: https://shop_id:secret_key@api.yookassa.ru/v3, or file:/path of a file that contains it',
  },
  receipt: {
    env: 'BERTH_RECEIPT',
    flag: '--receipt',
    fallback: 'none',
    help: "YooKassa's code of the tax rate for receipts by 54-FZ, such as 1; with several tax systems also its code, such as 1,2",
  },
  stripe: {
    env: 'BERTH_STRIPE',
    flag: '--stripe',
    fallback: 'none',
    help: 'payments through Stripe: https://secret_key@api.stripe.com/v1, or file:/path of a file that contains it',
  },
  trustProxy: {
    env: 'BERTH_TRUST_PROXY',
    flag: '--trust-proxy',
    fallback: 'none',
    help: 'addresses or ranges of reverse proxies whose X-Forwarded-For is trusted',
  },
  metrics: {
    env: 'BERTH_METRICS',
    flag: '--metrics',
    fallback: 'off',
    help: 'host:port to serve GET /metrics on for Prometheus; keep it private',
  },
  logLevel: {
    env: 'BERTH_LOG',
    flag: '--log',
    fallback: 'warn',
    help: `lowest log level to write: ${LOG_LEVELS.join(', ')}`,
  },
} as const satisfies Record<string, Setting>

export type SettingName = keyof typeof settings
