"""Records of the Info API: each field's wire name, its column in a frame, its kind and its unit.

A record is declared as lines `wire column kind [unit] — words`; kinds are explained in `KINDS`.
Source: venue-facts, "Records".
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS: dict[str, str] = {
    "price": "float64",
    "quantity": "float64",
    "money": "float64",
    "ratio": "float64",
    "integer": "Int64",
    "id": "Int64",
    "key": "string",
    "text": "string",
    "symbol": "string",
    "code": "string",
    "currency": "string",
    "address": "string",
    "hash": "string",
    "bool": "boolean",
    "ms": "datetime64[ms, UTC]",
    "s": "datetime64[ms, UTC]",
    "object": "object",
}
"""Kind of a field → dtype of its column.

price, quantity, money and ratio are decimal text on the wire (floats in frames, Decimal objects when exact); ms and s
are times since 1970; code is a product code and becomes its symbol; currency 1 becomes USDC; id is a 64-bit number;
key an identifier of unknown form; `enum:NAME` (dtype string) becomes the name of an enum's number.
"""

UNITS: dict[str, str] = {
    "price": "USDC",
    "quantity": "contracts of 1 base unit",
    "money": "USDC",
    "ratio": "1 = 100 %",
    "ms": "UTC",
    "s": "UTC",
    "code": "symbol",
}
"""Unit of a kind, where a field names no other."""


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field: `wire` name, `column` in a frame, `kind`, `enum` (name in ENUMS, or ""), `unit`, `about`."""

    wire: str
    column: str
    kind: str
    enum: str
    unit: str
    about: str

    @property
    def dtype(self) -> str:
        """Dtype of the column."""
        return KINDS[self.kind]


@dataclass(frozen=True, slots=True)
class Record:
    """One kind of row: its fields in the order of the columns, and the field that identifies a row ("" if none)."""

    name: str
    fields: tuple[RecordField, ...]
    identity: tuple[str, ...] = ()
    time: str = ""
    """Wire name of the field that startTime and endTime select on."""
    changing: bool = False
    """True where a row changes over time, and its time with it."""

    @property
    def columns(self) -> dict[str, str]:
        """Column → dtype, in order."""
        return {field.column: field.dtype for field in self.fields}

    @property
    def by_wire(self) -> dict[str, RecordField]:
        """Wire name → field."""
        return {field.wire: field for field in self.fields}


def record(name: str, lines: str, *, identity: str = "", time: str = "", changing: bool = False) -> Record:
    fields = tuple(_field(line) for line in lines.strip().splitlines())
    return Record(name, fields, tuple(identity.split()), time, changing)


def _field(line: str) -> RecordField:
    head, _, about = line.partition(" — ")
    wire, column, kind, *unit = head.split(maxsplit=3)
    kind, _, enum = kind.partition(":")
    kind = "text" if kind == "enum" else kind
    shown = unit[0] if unit else "enum name" if enum else UNITS.get(kind, "")
    return RecordField(wire, column, kind, enum, shown.strip(), about.strip())


PRODUCT = record(
    "ProductMeta",
    """
    symbol symbol symbol — product symbol
    code code integer — numeric product code used by orders
    name name text — name of the product
    listStatus list_status text — listed while orders are taken
    tickSize tick_size price — minimum price increment
    stepSize step_size quantity — minimum quantity increment
    pricePrecision price_precision integer decimals — display and input precision of prices
    qtyPrecision quantity_precision integer decimals — display and input precision of quantities
    minOrderValue min_order_value money — minimum order notional
    maxOrderQty max_order_quantity quantity — largest quantity of one order
    maxPositionNtnl max_position_notional money — largest position notional
    maxLeverage max_leverage ratio x — current maximum leverage
    maxSlippagePct max_slippage ratio — largest slippage of a market order
    defaultMakerFeeRate maker_fee_rate ratio — maker fee before volume discounts
    defaultTakerFeeRate taker_fee_rate ratio — taker fee before volume discounts
    fundingInterval funding_interval integer seconds — time between funding settlements
    marginTableId margin_table integer — number of its margin table
    onlyIsolated only_isolated bool — true where cross margin is not offered
    productType product_type text — perpetual
    baseCurrency base_currency text — what one contract is
    quoteCurrency quote_currency text — what prices are in
    settleCurrency settle_currency text — what profit is paid in
    currencyCode currency_code integer — number of the settlement currency
    """,
    identity="code",
)

WALLET = record(
    "AccountWallet",
    """
    userAddr account address — the account
    currency currency currency — USDC
    balance balance money — cash, without the margins of isolated positions
    availableBalance available money — free for new positions
    availableTransferBalance withdrawable money — free to withdraw
    equity equity money — balance, isolated margins and unrealised profit
    status status enum:account_status — NORMAL, or LIQUIDATING while the ladder runs
    blockHeight block integer — block of the last change
    blockTime time ms — time of that block
    """,
    identity="userAddr currency",
)

ACCOUNT_AGENT = record(
    "AccountAgent",
    """
    id id key — number of the approval
    agentName name text — name it was approved under
    agentAddress agent address — the agent wallet
    masterAddress master address — the account it acts for
    status status enum:agent_status — ACTIVE or REVOKED
    permission permission text — what it may do
    approvedAt approved_at ms — time of the approval
    approvedBlock approved_block integer — its block
    approvalTx approval_tx hash — its transaction
    expiresAt expires_at ms — end of its validity
    revokedAt revoked_at ms — time of the revocation
    revokedBlock revoked_block integer — its block
    revokeTx revoke_tx hash — its transaction
    """,
    identity="id",
    time="approvedAt",
)

ORDER_STATE = record(
    "OrderState",
    """
    ordId order_id id — number the venue gave
    clOrdId client_order_id id — number the client gave
    parentOrdId parent_order_id id — main order of a bracket
    symbol symbol code — product
    side side enum:order_side — BUY, SELL or a hedge close
    type type enum:order_type — LIMIT, MARKET …
    status status enum:order_status — NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED
    price price price — limit price, 0 for market orders
    qty quantity quantity — ordered
    filledQty filled quantity — filled so far
    leaveQty remaining quantity — still open
    cumFilledValue filled_value money — sum of price × quantity of its fills
    cumFee fee money — fees paid (negative: received)
    triggerPx trigger_price price — 0 where there is no trigger
    conditionalOrderTriggerType trigger_type enum:trigger — price that triggers it
    timeInForce tif enum:tif — GTC, IOC, FOK or POST_ONLY
    reduceOnly reduce_only enum:reduce_only — NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
    createTime created ms — time of placement
    blockTime time ms — time of the last change
    blockHeight block integer — block of the last change
    userAddr account address — the account
    id id key — number of the row
    """,
    identity="ordId",
    time="blockTime",
    changing=True,
)

ORDER_EVENT = record(
    "OrderEvent",
    """
    id id key — number of the event
    blockTime time ms — when
    ordId order_id id — number the venue gave
    clOrdId client_order_id id — number the client gave
    symbol symbol code — product
    side side enum:order_side — BUY, SELL or a hedge close
    ordType type enum:order_type — LIMIT, MARKET, LIQUIDATION, ADL …
    execStatus status enum:exec_status — what the step made of the order
    ordPx price price — limit price, 0 for market orders
    ordQty quantity quantity — ordered
    filledPx fill_price price — price of this fill
    execQty fill_quantity quantity — quantity of this fill
    leavesQty remaining quantity — still open
    execId exec_id id — number of the trade, 0 where it is no fill
    realizedPnl realized_pnl money — profit this fill realised
    openFee open_fee money — fee on the part that opened
    closeFee close_fee money — fee on the part that closed
    triggerPx trigger_price price — 0 where there is no trigger
    timeInForce tif enum:tif — GTC, IOC, FOK or POST_ONLY
    reason reason text — why it was cancelled or rejected
    txHash tx_hash hash — transaction
    blockHeight block integer — block
    userAddr account address — the account
    """,
    identity="id",
    time="blockTime",
)

POSITION = record(
    "Position",
    """
    symbolCode symbol code — product
    longSize long_size quantity — size of the long half
    shortSize short_size quantity — size of the short half
    longEntryValue long_entry_value money — sum paid for the long half
    shortEntryValue short_entry_value money — sum received for the short half
    leverage leverage ratio x — leverage that is set
    positionMode position_mode enum:position_mode — ONE_WAY or HEDGE
    positionMarginMode margin_mode enum:margin_mode — CROSS or ISOLATED
    assignedPosBalance assigned_margin money — isolated margin
    curMarkPx mark_price price — mark price
    unrealizedPnl unrealized_pnl money — profit at mark price
    cumRealizedPnl realized_pnl money — profit realised so far
    cumTransactionFee fees money — trading fees paid so far
    createTime created ms — first opened
    blockTime time ms — last change
    userAddr account address — the account
    """,
    identity="userAddr symbolCode",
)

TRADE = record(
    "Trade",
    """
    id id key — number of the row
    blockTime time ms — when
    symbol symbol code — product
    side side enum:order_side — BUY, SELL or a hedge close
    filledPx price price — price of the fill
    execQty quantity quantity — quantity of the fill
    orderId order_id id — number the venue gave
    clientOrderId client_order_id id — number the client gave
    execId exec_id id — number of the trade, the same for both sides
    role role text — MAKER or TAKER
    ordType type enum:order_type — LIMIT, MARKET, LIQUIDATION, ADL …
    execStatus status enum:exec_status — what the fill made of the order
    orderPx order_price price — limit price, 0 for market orders
    leavesQty remaining quantity — still open
    realizedPnl realized_pnl money — profit this fill realised
    openFee open_fee money — fee on the part that opened
    closeFee close_fee money — fee on the part that closed
    builderFee builder_fee money — fee paid to a builder
    txHash tx_hash hash — transaction
    blockHeight block integer — block
    userAddr account address — the account
    """,
    identity="id",
    time="blockTime",
)

KLINE = record(
    "Kline",
    """
    timestamp time s — start of the candle
    open open price — first price
    high high price — highest price
    low low price — lowest price
    close close price — last price
    volume volume quantity — traded
    turnover turnover money — traded value
    tradeCount trades integer — number of trades
    intrvl interval integer seconds — length of the candle
    symbolName symbol symbol — product
    """,
    identity="timestamp",
    time="timestamp",
)

LEDGER_ENTRY = record(
    "LedgerEntry",
    """
    id id id — number of the entry
    blockTime time ms — when
    bizType kind text — business type, e.g. DEPOSIT, TRADING_FEE, REALIZED_PNL, FUNDING
    amount amount money — change (negative: paid)
    balance balance money — balance after it
    symbol symbol code — product, where it belongs to one
    reference reference text — what it belongs to: order, vault, destination …
    counterparty counterparty address — the other side; none for money from outside and for isolated margin
    currency currency currency — USDC
    txHash tx_hash hash — transaction
    blockHeight block integer — block
    userAddr account address — the account
    """,
    identity="id",
    time="blockTime",
)

FUNDING_RATE = record(
    "FundingRate",
    """
    symbol symbol code — product
    fundingRate funding_rate ratio per interval — rate if the interval ended now
    lastFundingRate last_funding_rate ratio per interval — rate settled last
    fundingInterval funding_interval integer seconds — time between settlements
    nextFundingTime next_funding_time ms — next settlement
    markPx mark_price price — mark price
    oraclePx oracle_price price — index price
    premium premium ratio — time-weighted mean premium of the interval so far
    blockTime time ms — time of the answer
    """,
    identity="symbol",
)

FUNDING_RATE_POINT = record(
    "FundingRatePoint",
    """
    fundingTime time ms — time of the settlement
    symbol symbol code — product
    fundingRate funding_rate ratio per interval — longs pay a positive rate
    premium premium ratio — time-weighted mean premium of the interval
    markPx mark_price price — mark price it was settled at
    oraclePx oracle_price price — index price
    fundingInterval funding_interval integer seconds — length of the interval
    """,
    identity="symbol fundingTime",
    time="fundingTime",
)

FUNDING_PAYMENT = record(
    "FundingPayment",
    """
    id id id — number of the payment
    fundingTime time ms — time of the settlement
    symbol symbol code — product
    posSide side enum:position_side — LONG or SHORT
    posSize size quantity — size of the position
    fundingRate funding_rate ratio per interval — longs pay a positive rate
    fundingFee amount money — negative: paid
    txHash tx_hash hash — transaction
    userAddr account address — the account
    """,
    identity="id",
    time="fundingTime",
)

VAULT = record(
    "Vault",
    """
    vaultAddress vault address — address of the vault
    vaultName name text — name
    ownerAddress owner address — leader
    tvl tvl money — total value
    price price price per share — net asset value of a share
    apr apr ratio a year — return over the last 30 days, per year
    status status text — OPEN or CLOSED
    yourDeposits deposits money — what the user paid in
    userCurrentValue current_value money — what the user's shares are worth
    description description text — the leader's words
    totalShares total_shares quantity shares — all shares
    parentAddress parent address — parent of a sub-vault
    createTime created ms — when it was created
    """,
    identity="vaultAddress",
)

USER_VAULT = record(
    "UserVault",
    """
    vaultAddress vault address — address of the vault
    vaultName name text — name
    userAddress account address — the depositor
    shares shares quantity shares — shares held
    deposits deposits money — what they cost
    currentValue current_value money — what they are worth
    pnl pnl money — difference
    price price price per share — net asset value of a share
    lockedUntil locked_until ms — earliest withdrawal
    status status text — OPEN or CLOSED
    """,
    identity="vaultAddress userAddress",
)

VAULT_POINT = record(
    "VaultPoint",
    """
    timestamp time ms — when
    value value money — total value, or profit and loss
    """,
    identity="timestamp",
    time="timestamp",
)

VAULT_EVENT = record(
    "VaultEvent",
    """
    id id id — number of the event
    blockTime time ms — when
    type kind text — CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE …
    userAddress account address — who
    amount amount money — money moved
    shares shares quantity shares — shares made or ended
    price price price per share — net asset value of a share
    leaderFee leader_fee money — leader's part of a withdrawn gain
    txHash tx_hash hash — transaction
    vaultAddress vault address — address of the vault
    """,
    identity="id",
    time="blockTime",
)

VAULT_DEPOSITOR = record(
    "VaultDepositor",
    """
    userAddress account address — the depositor
    shares shares quantity shares — shares held
    shareRatio share ratio — part of all shares
    deposits deposits money — what they cost
    currentValue current_value money — what they are worth
    pnl pnl money — difference
    joinTime joined ms — first deposit
    vaultAddress vault address — address of the vault
    """,
    identity="userAddress",
)

REFERRAL_CODE = record(
    "ReferralCode",
    """
    userAddr account address — the account
    referralCode code text — code to give to others
    inviterAddress inviter address — who invited the account
    inviterCode inviter_code text — with which code
    bindTime bound_at ms — when
    """,
    identity="userAddr",
)

REFERRAL_SUMMARY = record(
    "ReferralSummary",
    """
    userAddr account address — the account
    period period text — 24h, 7d, 30d or all-time
    inviteeCount invitees integer — accounts invited
    secondTierCount second_tier_invitees integer — accounts those invited
    volume volume money — what they traded
    fees fees money — fees they paid
    reward reward money — rewards of the first tier
    secondTierReward second_tier_reward money — rewards of the second tier
    totalReward total_reward money — both
    rewardRate reward_rate ratio — present rate of the first tier
    """,
    identity="userAddr",
)

REFERRAL = record(
    "Referral",
    """
    userAddr account address — the invitee
    joinTime joined ms — when it was bound
    volume volume money — what it traded
    fees fees money — fees it paid
    reward reward money — what that brought the inviter
    inviteeCount invitees integer — accounts it invited itself
    """,
    identity="userAddr",
    time="joinTime",
)

PAYOUT = record(
    "ReferralPayout",
    """
    id id id — number of the payout
    blockTime time ms — when
    amount amount money — reward
    tier tier integer — 1 for own invitees, 2 for theirs
    userAddr account address — who was paid
    fromAddress source address — whose fee it is a part of
    txHash tx_hash hash — transaction
    """,
    identity="id",
    time="blockTime",
)

REFERRAL_TIER = record(
    "ReferralTier",
    """
    tier tier integer — number of the tier
    minVolume min_volume money — network volume of 30 days it begins at
    rewardRate reward_rate ratio — part of the invitees' fees
    secondTierRate second_tier_rate ratio — part of the fees of accounts those invited
    """,
    identity="tier",
)

BUILDER_AGENT = record(
    "BuilderAgent",
    """
    wallet wallet address — the trader
    agent agent address — the authorised agent wallet
    builder builder address — the builder's master wallet
    maxFeeRate max_fee_rate ratio — fee cap of the authorisation
    expiresAt expires_at s — end of its validity
    approveState approve_state text — APPROVED or REVOKED
    expired expired bool — true past its validity
    """,
    identity="wallet agent builder expiresAt approveState",
)

TRANSACTION = record(
    "Transaction",
    """
    txHash tx_hash hash — hash
    blockHeight block integer — block
    blockTime time ms — when
    actionType action text — type of the action
    user account address — account it acted for
    signer signer address — who signed
    nonce nonce id — nonce of the request
    status status text — SUCCESS or FAILED
    txCode tx_code integer — 0, or the number of the reason
    txMsg message text — the reason in words
    """,
    identity="txHash",
    time="blockTime",
)
