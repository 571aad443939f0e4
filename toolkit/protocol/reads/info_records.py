"""Records of the Info API, declared as `rows.records` reads them. Source: docs/published.md, "Info API"."""

from __future__ import annotations

from .rows import Record, records

RECORDS: dict[str, Record] = records("""
ProductMeta: identity code; needs symbol tickSize stepSize listStatus
    symbol symbol symbol — product symbol, such as BTCUSDC
    code code integer' — product code, used in orders
    name name text — display name of the product
    listStatus list_status text — `listed` while the venue accepts orders
    tickSize tick_size price — minimum price increment
    stepSize step_size quantity — minimum quantity increment
    pricePrecision price_precision integer decimals — display and input precision of prices
    qtyPrecision quantity_precision integer decimals — display and input precision of quantities
    minOrderValue min_order_value money — smallest notional of an order that may open a position
    maxOrderQty max_order_quantity quantity — largest quantity of one order
    maxPositionNtnl max_position_notional money — largest notional of a position with its open orders
    maxLeverage max_leverage ratio x — highest leverage that can be set
    maxSlippagePct max_slippage ratio — largest slippage of a market order
    defaultMakerFeeRate maker_fee_rate ratio — maker fee rate before volume discounts
    defaultTakerFeeRate taker_fee_rate ratio — taker fee rate before volume discounts
    fundingInterval funding_interval integer seconds — time between funding settlements
    marginTableId margin_table integer — number of the product's margin table
    onlyIsolated only_isolated bool — true if the product has isolated margin only
    productType product_type text — kind of product (always perpetual)
    baseCurrency base_currency text — currency of the quantity
    quoteCurrency quote_currency text — currency of prices
    settleCurrency settle_currency text — currency in which profit and fees are settled
    currencyCode currency_code integer — number of the settlement currency (1 is USDC)

MarginTier: identity tableId minimumValue; needs maintainMarginRatio maxLeverage
    tableId table integer — number of the margin table, as in a product's margin_table
    minimumValue floor money — notional above which the tier applies
    maintainMarginRatio maintenance_rate ratio — maintenance margin as a fraction of the notional
    maxLeverage max_leverage ratio x — highest leverage of a position in this tier

Currency: identity code; needs currency
    currency currency text — name of the currency, such as USDC
    code code integer' — number of the currency (1 is USDC)
    name name text — display name of the currency
    walletPrecision wallet_precision integer decimals — decimals of balances
    displayPrecision display_precision integer decimals — decimals to show

AccountWallet: identity userAddr currency; needs balance availableBalance equity status
    userAddr currency
    balance balance money — cash balance, without the margin of isolated positions
    availableBalance available money — margin available for new positions and orders
    availableTransferBalance withdrawable money — amount that can be withdrawn
    equity equity money — balance + isolated margins + unrealised PnL
    status status enum:account_status — NORMAL, or LIQUIDATING while the account is being liquidated
    blockHeight block integer — block height of the last change
    blockTime time ms — time of the last change

AccountAgent: identity id; time approvedAt; needs agentAddress masterAddress status
    id id key# — id of the approval
    agentName name text — name under which the agent was approved
    agentAddress agent address — address of the agent wallet
    masterAddress master address — address of the account that the agent acts for
    status status enum:agent_status — status of the approval: ACTIVE or REVOKED
    permission permission text — permission of the agent
    approvedAt approved_at ms — time of the approval
    approvedBlock approved_block integer — block height of the approval
    approvalTx approval_tx hash — hash of the transaction of the approval
    expiresAt expires_at ms — time at which the approval expires [L]
    revokedAt revoked_at ms — time of the revocation (empty before it)
    revokedBlock revoked_block integer — block height of the revocation (empty before it)
    revokeTx revoke_tx hash — hash of the transaction of the revocation (empty before it)

OrderState: identity ordId; time blockTime; needs symbol side type status price qty filledQty leaveQty; changing
    ordId clOrdId
    parentOrdId parent_order_id id — order id of the bracket's main order (0 without one)
    symbol symbol code — product symbol
    side
    type type enum:order_type — order type: LIMIT, MARKET or a builder order's conditional type
    status status enum:order_status' — NEW, PARTIALLY_FILLED, FILLED, CANCELED, ORDER_STATUS_UNTRIGGERED, REJECTED
    price price price — limit price (0 for a market order)
    qty quantity quantity — ordered quantity
    filledQty filled quantity — quantity filled so far
    leaveQty remaining quantity — quantity that is still open
    cumFilledValue filled_value money — sum of price × quantity over all fills
    cumFee fee money — sum of trading fees paid (negative if received)
    triggerPx
    conditionalOrderTriggerType trigger_type enum:trigger — trigger source: LAST_PRICE, MARK_PRICE or INDEX_PRICE
    timeInForce
    reduceOnly reduce_only enum:reduce_only — NONE, REDUCE_ONLY, TP_FROM_POSITION or SL_FROM_POSITION
    createTime created ms — time at which the order was placed [L]
    blockTime time ms — time of the last change
    blockHeight block integer — block height of the last change
    userAddr
    id id key — id of the record

OrderEvent: identity id; time blockTime; needs ordId symbol side execStatus ordPx ordQty filledPx execQty
    id id key — id of the event
    blockTime time ms — time of the event
    ordId clOrdId
    symbol symbol code — product symbol
    side ordType
    execStatus status enum:exec_status' — status of the order after this event
    ordPx ordQty
    filledPx fill_price price — price of this fill
    execQty fill_quantity quantity — quantity of this fill
    leavesQty
    execId exec_id id — id of the trade (0 if the event is not a fill)
    realizedPnl realized_pnl money — PnL realised by this fill, before fees
    openFee closeFee triggerPx timeInForce
    reason reason text — reason of a cancellation or rejection, in words [L]
    txHash blockHeight userAddr

Position: identity userAddr symbolCode; needs longSize shortSize longEntryValue shortEntryValue leverage positionMode \
    positionMarginMode assignedPosBalance curMarkPx
    symbolCode symbol code — product symbol
    longSize long_size quantity — size of the long position
    shortSize short_size quantity± — size of the short position, as a positive number
    longEntryValue long_entry_value money — entry price × size of the long position
    shortEntryValue short_entry_value money — entry price × size of the short position
    leverage
    positionMode position_mode enum:position_mode' — position mode of the account: ONE_WAY or HEDGE
    positionMarginMode margin_mode enum:margin_mode' — margin mode of the position: CROSS or ISOLATED
    assignedPosBalance assigned_margin money — margin assigned to an isolated position
    curMarkPx mark_price price — mark price
    unrealizedPnl unrealized_pnl money — unrealised PnL at mark price
    cumRealizedPnl realized_pnl money — PnL realised so far, before fees
    cumTransactionFee fees money — sum of trading fees paid so far
    createTime created ms — time at which the position was first opened
    blockTime time ms — time of the last change
    userAddr

Trade like OrderEvent: identity id; time blockTime; needs symbol side filledPx execQty orderId
    id id key — id of the record
    blockTime time ms — time of the fill
    symbol side
    filledPx price price — price of the fill
    execQty quantity quantity — quantity of the fill
    orderId order_id id — order id, assigned by the venue
    clientOrderId client_order_id id — client order id, chosen by the client (0 without one)
    execId exec_id id — id of the trade, the same for maker and taker
    role role text — MAKER or TAKER [L]
    ordType type enum:order_type — order type: LIMIT, MARKET, LIQUIDATION, ADL or a builder order's conditional type [L]
    execStatus status enum:exec_status' — status of the order after this fill
    orderPx order_price price — limit price (0 for a market order)
    leavesQty realizedPnl openFee closeFee
    builderFee builder_fee money — fee paid to the builder of the order [L]
    txHash blockHeight userAddr

Kline: identity timestamp; time timestamp; needs open high low close volume
    timestamp time s — start of the candle
    open open price — price of the first trade
    high high price — highest price traded
    low low price — lowest price traded
    close close price — price of the last trade
    volume volume quantity — traded quantity
    turnover turnover money — traded value: sum of price × quantity
    tradeCount trades integer — number of trades
    intrvl interval integer seconds — length of the candle
    symbolName symbol symbol — product symbol

LedgerEntry: identity id; time blockTime; [L]
    id id id# — id of the entry
    blockTime time ms — time of the change
    bizType kind text — kind of change, such as DEPOSIT, TRADING_FEE, REALIZED_PNL or FUNDING
    amount amount money — change of the balance (negative if paid)
    balance balance money — balance after the change
    symbol symbol code? — product symbol (missing if the change belongs to no product)
    reference reference text — id or address that the change belongs to: order, vault, destination, …
    counterparty counterparty address? — other account (missing for deposits, withdrawals and isolated margin)
    currency txHash blockHeight userAddr

FundingRate: identity symbol; [L]
    symbol symbol code — product symbol
    fundingRate funding_rate ratio per interval — funding rate if the interval ended now
    lastFundingRate last_funding_rate ratio per interval — funding rate of the last settlement
    fundingInterval funding_interval integer seconds — time between settlements
    nextFundingTime next_funding_time ms — time of the next settlement
    markPx mark_price price — mark price
    oraclePx oracle_price price — index price (oracle)
    premium premium ratio — time-weighted mean premium of the interval so far
    blockTime time ms — time of the response

FundingRatePoint: identity symbol fundingTime; time fundingTime; [L]
    fundingTime time ms — time of the settlement
    symbol symbol code — product symbol
    fundingRate
    premium premium ratio — time-weighted mean premium of the interval
    markPx mark_price price — mark price used for the settlement
    oraclePx oracle_price price — index price (oracle)
    fundingInterval funding_interval integer seconds — length of the funding interval

FundingPayment: identity id; time fundingTime; [L]
    id id id# — id of the payment
    fundingTime time ms — time of the settlement
    symbol symbol code — product symbol
    posSide side enum:position_side — direction of the position: LONG or SHORT
    posSize size quantity± — size of the position
    fundingRate
    fundingFee amount money — funding received (negative if paid)
    txHash userAddr

Vault: identity vaultAddress; needs tvl price status
    vaultAddress
    vaultName name text — name of the vault
    ownerAddress owner address — address of the owner (leader)
    tvl tvl money — total value of the vault's assets
    price price price per share — net asset value of one share
    apr apr ratio a year — annualised return of the last 30 days
    status status text — OPEN or CLOSED
    yourDeposits deposits money — sum that the user deposited for the shares held
    userCurrentValue current_value money — current value of the user's shares
    description description text — description written by the owner [L]
    totalShares total_shares quantity shares — number of shares of all depositors [L]
    parentAddress parent address — address of the parent vault (missing unless it is a sub-vault) [L]
    createTime created ms — time of creation [L]

UserVault: identity vaultAddress userAddress; [L]
    vaultAddress
    vaultName name text — name of the vault
    userAddress account address — address of the depositor
    shares shares quantity shares — number of shares held
    deposits deposits money — sum deposited for the shares held
    currentValue current_value money — current value of the shares
    pnl pnl money — current value − deposits
    price price price per share — net asset value of one share
    lockedUntil locked_until ms — time from which the shares can be withdrawn
    status status text — OPEN or CLOSED

VaultPoint: identity timestamp; time timestamp; [L]
    timestamp time ms — time of the value
    value value money — total value of the vault, or its PnL

VaultEvent like UserVault: identity id; time blockTime; [L]
    id id id# — id of the event
    blockTime time ms — time of the event
    type kind text — kind of event: CREATE, DEPOSIT, WITHDRAW, REBALANCE, UPDATE_OWNER, CLOSE, …
    userAddress account address — address of the account that caused the event
    amount amount money — amount of USDC moved
    shares shares quantity shares — number of shares issued or redeemed
    price
    leaderFee leader_fee money — owner's share of a withdrawn profit
    txHash vaultAddress

VaultDepositor like UserVault: identity userAddress; [L]
    userAddress shares
    shareRatio share ratio — fraction of all shares
    deposits currentValue pnl
    joinTime joined ms — time of the first deposit
    vaultAddress

ReferralCode: identity userAddr; [L]
    userAddr
    referralCode code text — referral code of the account
    inviterAddress inviter address — address of the inviter (missing without one)
    inviterCode inviter_code text — referral code that was used
    bindTime bound_at ms — time of the invitation

ReferralSummary: identity userAddr; [L]
    userAddr
    period period text — period of the summary: 24h, 7d, 30d or all-time
    inviteeCount invitees integer — number of accounts invited
    secondTierCount second_tier_invitees integer — number of accounts invited by the invitees
    volume volume money — traded value of the invitees
    fees fees money — trading fees of the invitees
    reward reward money — rewards for the invitees' fees
    secondTierReward second_tier_reward money — rewards for the fees of the accounts they invited
    totalReward total_reward money — sum of both rewards
    rewardRate reward_rate ratio — current reward rate: fraction of the invitees' fees

Referral: identity userAddr; time joinTime; [L]
    userAddr account address — address of the invitee
    joinTime joined ms — time at which the invitee joined
    volume volume money — traded value of the invitee
    fees fees money — trading fees of the invitee
    reward reward money — reward of the inviter
    inviteeCount invitees integer — number of accounts that the invitee invited

ReferralPayout: identity id; time blockTime; [L]
    id id id# — id of the payout
    blockTime time ms — time of the payout
    amount amount money — reward paid
    tier tier integer — 1 for an invitee's fee, 2 for the fee of an account that an invitee invited
    userAddr account address — address of the account that was paid
    fromAddress source address — address of the account whose fee is shared
    txHash

ReferralTier: identity tier; [L]
    tier tier integer — number of the tier
    minVolume min_volume money — 30-day volume of the invitees from which the tier applies
    rewardRate reward_rate ratio — fraction of the invitees' fees
    secondTierRate second_tier_rate ratio — fraction of the fees of accounts that the invitees invited

BuilderAgent: identity wallet agent builder expiresAt approveState; needs maxFeeRate
    wallet wallet address — address of the trader
    agent agent address — address of the authorised agent wallet
    builder builder address — address of the builder's master wallet
    maxFeeRate max_fee_rate ratio — highest fee rate that the trader authorised
    expiresAt expires_at s — time at which the authorisation expires
    approveState approve_state text — APPROVED or REVOKED
    expired expired bool — true after the authorisation expired

Transaction: identity txHash; time blockTime; [L]
    txHash blockHeight
    blockTime time ms — time of the transaction
    actionType action text — type of the action, such as placeOrder
    user account address — address of the account that the action was for
    signer signer address — address of the signer
    nonce nonce id — nonce of the request
    status status text — SUCCESS or FAILED
    txCode tx_code integer — 0, or the code of the failure
    txMsg message text — message of the failure
    data data object? — what the action returned, where its answer came before its execution

ProductList
    md5Checksum checksum text — MD5 of the list, which changes with it

BuilderPage
    builder builder address — address of the builder's master wallet (empty where only a trader is given)
    page page integer — number of the page, from 1
    pageSize page_size integer — rows on a page

BlockPage: [L]
    blockHeight
    blockTime time ms — time at which the block ended
    blockHash hash hash — hash of the block
    txCount transactions integer — number of transactions in the block
""")
"""Name → record."""

KLINE, PRODUCT = RECORDS["Kline"], RECORDS["ProductMeta"]
