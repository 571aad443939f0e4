#!/bin/sh
# Info queries need no key. Usage: sh queries.sh http://127.0.0.1:8645 0xADDRESS
set -eu
base=$1
account=$2
curl -fsS "$base/health"
echo
curl -fsS "$base/info/public/product-meta?listStatus=listed" | head -c 400
echo
curl -fsS --get "$base/info/account/wallet" --data-urlencode "userAddr=$account"
echo
curl -fsS --get "$base/info/kline/last" --data-urlencode symbol_name=BTCUSDC -d interval=60 -d limit=3
echo
