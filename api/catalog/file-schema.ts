import Type, { type Static } from 'typebox'
import { isoFields } from '../drivers/disk-images.ts'
import { imageFields, modules, zoneFields } from '../drivers/modules/modules.ts'
import { SecondCurrencyEntry } from './currencies.ts'
import { AccountLimits } from './limit-steps.ts'
import { CpuTypeName } from './schema.ts'

const Slug = Type.String({
  pattern: '^[a-z0-9][a-z0-9.-]{0,62}$',
  errorMessage: 'must be lower-case letters, digits, dots and dashes.',
})
const Amount = Type.String({
  pattern: String.raw`^\d{1,9}(\.\d{1,2})?$`,
  errorMessage: 'must be an amount such as "180.00", in quotes and not negative.',
})
const Day = Type.String({ format: 'date' })
const Range = Type.Object({
  min: Type.Integer({ minimum: 1 }),
  max: Type.Integer({ minimum: 1 }),
  step: Type.Integer({ minimum: 1 }),
})

/** The network of a plan: GB that it may send a month for its price, and its bandwidth. */
const network = {
  traffic_gb: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  bandwidth_mbit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
}

/** True if it is no longer sold, but kept for the servers that use it. */
const Retired = Type.Optional(Type.Boolean())

const Page = Type.String({
  maxLength: 2_000,
  pattern: String.raw`^https://[^\s"'<>\\]+$`,
  errorMessage: 'must be the address of a page, such as https://example.com/pay.',
})
const textUpTo = (maxLength: number) =>
  Type.String({
    minLength: 1,
    maxLength,
    pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f<>]+$`,
    errorMessage: 'must be on one line, without < and > and control characters.',
  })
const Text = textUpTo(64)
const Line = textUpTo(200)

const Seller = Type.Object({
  name: Line,
  address: Line,
  tax_id: Text,
  first_month: Type.String({
    pattern: String.raw`^20\d\d-(0[1-9]|1[0-2])$`,
    errorMessage: 'must be a month such as 2027-01.',
  }),
  // The text before the number of each document (default: empty).
  number_prefix: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9/-]{1,16}$',
      errorMessage: 'must be at most 16 letters, digits, dashes and slashes.',
    }),
  ),
  // Without it, customers cannot pay by bank transfer.
  bank: Type.Optional(
    Type.Object({ name: Line, account: Text, bic: Text, correspondent_account: Type.Optional(Text) }),
  ),
  // Without it, documents say that no VAT is charged.
  vat: Type.Optional(
    Type.Object({
      percent: Type.String({
        pattern: String.raw`^\d{1,2}(\.\d{1,2})?$`,
        errorMessage: 'must be a rate such as "20" or "5.5", in quotes.',
      }),
      // False if VAT is added to the prices, and debited with each document.
      is_included: Type.Boolean(),
    }),
  ),
})

/** The catalogue file. Drivers add fields of their own to zones and templates. */
export const CatalogFile = Type.Object({
  zones: Type.Array(
    Type.Object({
      zone_slug: Slug,
      title: Type.String(),
      city: Type.String(),
      country_code: Type.String({
        pattern: '^[A-Z]{2}$',
        errorMessage: 'must be the two capital letters of a country in ISO 3166, such as DE.',
      }),
      cpu_types: Type.Array(CpuTypeName, { minItems: 1, uniqueItems: true }),
      // The driver of the zone's new servers (default: BERTH_COMPUTE).
      driver: Type.Optional(Type.Enum(modules.map(({ name }) => name))),
      ...zoneFields,
      overcommit: Type.Object({
        cpu: Type.Number({ minimum: 0.1 }),
        ram: Type.Number({ minimum: 0.1 }),
        disk: Type.Number({ minimum: 0.1 }),
      }),
      // Ranges that are routed to the host, for public addresses of servers.
      public_ipv4: Type.Optional(Type.Array(Type.String(), { uniqueItems: true, maxItems: 64 })),
      public_ipv6: Type.Optional(Type.String()),
      retired: Retired,
    }),
    { minItems: 1 },
  ),
  // The hoster, as customers see it in the console, mails and errors.
  operator: Type.Optional(
    Type.Object({
      name: Type.Optional(Text),
      contact: Type.Optional(
        Type.String({
          maxLength: 254,
          pattern: String.raw`^(https://[^\s"'<>\\]+|[^\s@"'<>\\]+@[^\s@"'<>\\]+)$`,
          errorMessage: 'must be an e-mail address, or the address of a page with https://.',
        }),
      ),
      // {account_id} in it stands for the account.
      payment_url: Type.Optional(Page),
      logo_url: Type.Optional(Page),
      // A currency for approximate sums beside rubles (default: rubles only).
      second_currency: Type.Optional(SecondCurrencyEntry),
      // People accept these terms when they sign up.
      terms: Type.Optional(Type.Object({ url: Page, version: Text })),
      // The legal entity that issues documents (default: none are issued).
      seller: Type.Optional(Seller),
    }),
  ),
  // The limits of custom plans, and the network of each.
  limits: Type.Object({ cpu: Range, ram_mb: Range, disk_gb: Range, ...network }),
  // Limits of accounts by the sum that they have paid (default: all rise with the first payment).
  account_limits: Type.Optional(AccountLimits),
  prices: Type.Array(
    Type.Object({
      active_from: Day,
      zone_slug: Slug,
      cpu_type: CpuTypeName,
      cpu_month_rub: Amount,
      ram_gb_month_rub: Amount,
      disk_gb_month_rub: Amount,
      // The price of a public IPv4 address (default: free).
      ipv4_month_rub: Type.Optional(Amount),
      // The price of a GB of a snapshot or an image (default: free).
      snapshot_gb_month_rub: Type.Optional(Amount),
      // The price of a GB of a volume (default: the price of a GB of disk).
      volume_gb_month_rub: Type.Optional(Amount),
      // The price of backups, in percent of the server's (default: free).
      backups_percent: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
      // The price of a TB sent beyond the traffic of a plan (default: free).
      traffic_tb_rub: Type.Optional(Amount),
      // Presets with a price of their own; the others cost as much as their parts.
      preset_month_rub: Type.Optional(Type.Record(Type.String(), Amount)),
      // The day from which earlier servers pay this price, too (default: they keep their price).
      existing_from: Type.Optional(Day),
      // True if a price may differ more than twofold from what is in force (default: such an entry is refused
      // as a mistake).
      large_change: Type.Optional(Type.Boolean()),
    }),
    { minItems: 1 },
  ),
  presets: Type.Array(
    Type.Object({
      slug: Slug,
      cpu: Type.Integer({ minimum: 1 }),
      ram_mb: Type.Integer({ minimum: 64 }),
      disk_gb: Type.Integer({ minimum: 1 }),
      ...network,
      retired: Retired,
    }),
  ),
  templates: Type.Array(
    Type.Object({
      slug: Slug,
      title: Type.String(),
      os_family: Type.String(),
      min_disk_gb: Type.Integer({ minimum: 1 }),
      default_username: Type.String({
        pattern: '^[a-z_][a-z0-9_-]{0,31}$',
        errorMessage: 'must be a user name of up to 32 lower-case letters, digits, - and _, such as debian.',
      }),
      // At least one format of images is required.
      ...imageFields,
      retired: Retired,
    }),
    { minItems: 1 },
  ),
  // ISOs that every customer can put into the drive of a server (default: none).
  isos: Type.Optional(
    Type.Array(Type.Object({ slug: Slug, title: Text, ...isoFields, retired: Retired }), { maxItems: 100 }),
  ),
})
export type CatalogFile = Static<typeof CatalogFile>
