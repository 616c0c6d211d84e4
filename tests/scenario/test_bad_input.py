"""What is wrong in a scenario is told in one sentence: the line, what was found, what to write."""

from __future__ import annotations

import os
import random
import re
import shlex
from pathlib import Path

import pytest

from mqlab.cli import main
from mqlab.kernel import parse, speaking
from mqlab.kernel.play import encode
from mqlab.registry import reopen_run, scenario, system
from mqlab.scenario.golden import split_blocks
from mqlab.scenario.language import ScenarioError

FOLDER = Path(__file__).parents[2] / "datasets" / "scenarios"
K, R, P = "system kafka", "system rocketmq consumers=shop", "system pulsar"
SENT = "\nrun app: init, begin, send orders-0 a"
NOT_A_NAME = "is not a name; a name has letters, digits and . _ - only"

#: what is written, and words of what is said
BAD = [
    # systems and their options
    ("system kafak", "line 1: no system 'kafak'; did you mean kafka?"),
    ("system rabbit", "no system 'rabbit'; there are: asking, "),
    ("# no system\nrun app: init", "line 2: a line `system NAME …` comes first"),
    ("# only a story", "no line `system NAME …`"),
    ("system", "line 1: expected `system NAME …`"),
    (f"{K}\n{P}", "line 2: a scenario has one system"),
    (f"{K} partition=2", "no option 'partition'; did you mean partitions?"),
    (f"{K} partitions", "'partitions' in the system line: expected key=value"),
    (f"{K} partitions=two", "partitions='two': expected a whole number"),
    (f"{K} partitions=²", "expected a whole number"),
    (f"{K} partitions={'9' * 5000}", "partitions='9999999999999999999…'"),
    (f"{K} partitions=1000000", "partitions=1000000: a picture has room for 100"),
    (f"{K} groups=51", "groups=51: a picture has room for 50"),
    (f"{K} partitions=2;", "partitions='2;': expected a whole number"),
    (f"{K} partitions=1 partitions=2", "partitions= appears twice"),
    (f"{K} topic=a,b partitions=51", "partitions of all topics=102: a picture has room for 100"),
    (f"{K} replicas=0", "replicas=0: expected 1 to 3"),
    (f"{K} replicas=2 min_isr=3", "min_isr=3: expected 1 to 2"),
    (f"{K} replicas=4", "replicas=4: expected 1 to 3"),
    (f"{K} min_isr=2", "min_isr=2: expected 1 to 1, as many as there are"),
    (f"{K} topic_replicas=2", "topic_replicas=2: expected 1 (min_isr) to 1 (replicas)"),
    (f"{K} replicas=2 min_isr=2 topic_replicas=1", "topic_replicas=1: expected 2 (min_isr) to 2"),
    (f"{K} transaction_version=0 client=v2", "no real Kafka has"),
    ("system shop replicas=2", "replicas=2: expected 1; for several take `system kafka`"),
    ("system asking transaction_version=0 replicas=2", "replicas=2: expected 1; for several take"),
    (f"{K} release=5", "release=5: expected 4.2 or 4.3"),
    (f"{K} 'app=init", "close every quote"),
    (f"{K} 'app=init; comit'", "no call 'comit'; did you mean commit?"),
    (f"{K} 'ap=init'", "no option 'ap'; did you mean app?"),
    (f"{K} claims=torn_raed", "no claim 'torn_raed'"),
    (f"{K} order.prepare=reply", "no step 'prepare' in pieces; did you mean prepared?"),
    (f"{K} order.prepared=replay", "no piece 'replay' in order.prepared; did you mean reply?"),
    (
        f"{K}\nkill coordinator when=WriteTxnMarkers#1 after=9{SENT}, commit",
        "line 2: after=9: the step of coordinator that emits WriteTxnMarkers#1 has 1 effects; "
        "write after=0 to after=1",
    ),
    (
        f"{K}\nkill coordinator\nrestart coordinator kill=70",
        "line 3: kill=70: that step has 2 effects; write kill=0 to kill=2",
    ),
    (
        f"{K}\ndo run app init\ndo call app power=17",
        "line 3: power=17: that step has 1 effects; write power=0 to power=1",
    ),
    (f"{K}\noff lsoo", "line 2: system kafka: no safeguard 'lsoo'; did you mean lso?"),
    (f"{K}\noff lso\noff gravity", "line 3: system kafka: no safeguard 'gravity'; there are: "),
    (f"{R} flush=now", "flush=now: expected async or sync"),
    (f"{R} off=gravity", "no safeguard 'gravity'; there are: "),
    (f"{P} off=gravity", "no safeguard 'gravity'; there are: "),
    (f"{R} release=6", "release=6: expected 4.9 or 5.5"),
    (f"{R} early=1", "early=1: expected on or off"),
    (f"{R} model=x", "model=x: expected clustering or broadcasting"),
    (f"{R} in_sync=3", "in_sync=3: expected 1 or 2"),
    (f"{R} check_interval_ms=0", "check_interval_ms=0: expected at least 1"),
    (f"{R} subscribe=c:orders", "no node 'c'"),
    (f"{R} subscribe=shop:order", "no topic 'order'; did you mean orders?"),
    (f"{R} order.end_transaction=mesage", "did you mean message?"),
    (f"{R} topic=a,b queues=51", "queues of all topics=102"),
    (f"{P} dedup=2", "dedup=2: expected 0 or 1"),
    (f"{P} auto_skip=2", "auto_skip=2: expected 0 or 1"),
    (f"{P} snapshot_count=0", "snapshot_count=0: expected at least 1"),
    (f"{P} coordinators=17", "a cluster has 16"),
    (f"{P} partitions=101", "a picture has room for 100"),
    ("system two_phase refuses=money", "refuses=money: expected some of participants=orders,stock"),
    ("system three_phase participants=", "refuses=: expected some of participants="),
    ("system tcc lacking=gold", "lacking=gold: expected some of services=stock,money"),
    ("system saga refuses=gold", "refuses=gold: expected some of services=orders,money,stock"),
    ("system barriers rows=21", "rows=21: a picture has room for 20"),
    ("system delivery order.consume=count,pray", "no piece 'pray' in order.consume; there are: co"),
    ("system outbox consumers=", "consumers=: expected one name at least"),
    ("system delivery commit=never", "commit=never: expected after or before"),
    ("system order_service service=hsaty", "no service 'hsaty'; did you mean hasty?"),
    ("system passing pieces=receive,recieve", "no piece 'recieve'; did you mean receive?"),
    ("system billing topic=money", "billing needs a node orders-0"),
    ("system sink topic=a,b", "sink needs a node a,b-0"),
    ("system income outputs=", "outputs=: expected one topic at least"),
    # names
    (f"{K} readers=orders-0", "readers: 'orders-0' would name 2 nodes"),
    (f"{K} readers=coordinator", "readers: 'coordinator' would name 2 nodes"),
    (f"{K} readers=app", "producers and readers: 'app' would name 2 nodes"),
    (f"{K} producers=app:one,app:two", "producers: 'app' appears 2 times"),
    (f"{K} readers=r,r", "readers: 'r' appears 2 times"),
    (f"{K} workers=w,w", "workers: 'w' appears 2 times"),
    (f"{K} admins=a,,b", f"admins: '' {NOT_A_NAME}"),
    (f"{K} producers=:id", f"producers: '' {NOT_A_NAME}"),
    (f"{K} topic=", f"topic: '' {NOT_A_NAME}"),
    (f"{K} topic=orders,orders", "topic: 'orders' appears 2 times"),
    (f"{K} topic=__consumer_offsets groups=1", "this one is Kafka's own"),
    (f"{K} topic=__transaction_state", "this one is Kafka's own"),
    (f"{K} producers=topic", "'topic' is the name of an option; give the client another name"),
    (
        f"{K} 'producers=app:- partitions=2; app=send orders-0 a'",
        f"; app=send orders-0 a' {NOT_A_NAME}",
    ),
    (f"{K} 'readers=a b'", f"'a b' {NOT_A_NAME}"),
    ("system rocketmq 'consumers=shop app=consume'", f"'shop app=consume' {NOT_A_NAME}"),
    ("system rocketmq consumers=broker:g", "consumers: 'broker' would name 2 nodes"),
    ("system rocketmq consumers=app", "producers and consumers: 'app' would name 2 nodes"),
    ("system rocketmq consumers=c:one,c:two", "consumers: 'c' appears 2 times"),
    (f"{R} topic=a,,b", f"topic: '' {NOT_A_NAME}"),
    (f"{P} clients=orders-0", "would name 2 nodes"),
    (f"{P} topic=tc", "topic: 'tc-0' would name 2 nodes"),
    (f"{P} missing=orders-0", "topic and missing: 'orders-0' would name 2 nodes"),
    (f"{P} clients=app,app", "clients: 'app' appears 2 times"),
    ("system saga services=app", "services: 'app' would name 2 nodes"),
    ("system tcc services=stock,stock", "services: 'stock' appears 2 times"),
    ("system two_phase participants=tm", "participants: 'tm' would name 2 nodes"),
    ("system barriers sources=s1,s1", "sources: 's1' appears 2 times"),
    ("system outbox apps=shop", "apps: 'shop' would name 2 nodes"),
    # calls
    (f"{K}\nrun app: init, comit", "line 2: no call 'comit'; did you mean commit?"),
    (f"{K}\nrun app: dance", "no call 'dance'; there are: init, begin, send"),
    (f"{K}\nrun ap: init", "no client 'ap' that takes calls; did you mean app?"),
    (f"{K}\nrun coordinator: init", "no client 'coordinator' that takes calls; there are: app"),
    (f"{K}\nrun app: describe {{a}}", "expected one word without"),
    (f"{K}\nrun app init", "expected `run NODE: call, call …`, not 'app init'"),
    (f"{K}\nrun app: ,", "expected `run NODE: call, call …`"),
    (
        f"{K}\nrun app: send orders-0",
        "'send orders-0' is not a call; expected send TOPIC-PARTITION",
    ),
    (f"{K}\nrun app: send orders-0 a b", 'words is written in quotation marks, "two words"'),
    (f'{K}\nrun app: init, send orders-0 "a b', "line 2: ' init, send orders-0 \"a b': a quota"),
    (f"{K}\nrun app: send orders-0 it's", "one with an apostrophe as \"it's\""),
    (f"{K} 'app=send orders-0 \"a b'", "line 1: system kafka: 'send orders-0 \"a b': a quotation"),
    (f'{K} groups=1\nrun app: send-offsets "g h" orders-0@0', "'g h': expected one word without"),
    (f'{P}\nrun app: new-transaction "t 1"', "'t 1': expected one word without"),
    (f"{K}\nrun app: send ordres-0 a", "no partition 'ordres-0'; did you mean orders-0?"),
    (f"{K}\nrun app: send orders-7 a", "no partition 'orders-7'; there are: orders-0, orders-1"),
    (f"{K}\nrun app: seek orders-0@²", "'orders-0@²' is no position"),
    (f"{K} groups=1\nrun app: subscribe g order", "no topic 'order'; did you mean orders?"),
    (f"{K} groups=1 readers=r\nrun r: subscribe g", "subscribe GROUP TOPIC"),
    (f"{K} groups=1\nrun app: send-offsets g orders-0@1 generation=one", "generation=N"),
    (f"{K} readers=r\nrun r: lag nowhere-0", "no partition 'nowhere-0'"),
    (f"{K}\nrun app: elect coordinator ²", "is not a call; expected elect PARTITION REPLICA"),
    *((f"{K} workers=w\nrun w: {call}", "line 2: this system has no group 'g'; write groups=1")
      for call in ("subscribe g orders", "committed g orders-0", "send-offsets g orders-0@0",
                   "commit-offsets g")),
    (f"{K} admins=admin\nrun admin: delete-topic order", "no topic 'order'; did you mean orders?"),
    (f"{K} admins=admin\nrun admin: delete-topc orders", "did you mean delete-topic?"),
    (f"{K} admins=admin\nrun admin: create-partitions orders",
     "orders has no further partitions; write spare=1 in the system line"),
    (f"{K} spare=1 replicas=2", "spare=1: expected 0 with several replicas"),
    (f"{K} spare=99", "partitions of all topics=101: a picture has room for 100"),
    (f"{K} admins=admin\nrun admin: delete-group g", "no group 'g'; write groups=1"),
    (f"{K} admins=admin\nrun admin: delete-records orders-0", "'orders-0' is no position"),
    (f"{K} admins=admin\nrun admin: fence-producers", "expected fence-producers TRANSACTIONAL-ID"),
    (f"{K}\nrun app: send orders-0 a bytes=2000000", "a client sends 1,000,000 at most; for one"),
    (f"{K}\nrun app: send orders-0 a bytes=x", "bytes=x: expected a whole number"),
    (f"{K}\nrun app: send orders-0 a colour=red", "expected send TOPIC-PARTITION VALUE [key=KEY "),
    (f"{K} groups=1 readers=r\nrun r: committed g orders-0 require_stable=maybe",
     "require_stable=maybe: expected yes or no"),
    (f"{R}\nrun app: send orders-0 o1 property=note", "'note' is no property; expected NAME:VALUE"),
    (f"{R}\nrun app: send orders-0 o1 property=note:x*1000000", "'note:x*1000000' is no property"),
    (f"{R}\nrun app: send orders-0 o1 property=DELAY:3", "DELAY: putUserProperty refuses this"),
    (f"{R}\nrun shop: done", "'done' is not a call; expected done ORDER"),
    (f"{R}\nrun app: send-in-transaction orders-0", "is not a call; expected send-in-transaction"),
    (f"{R}\nrun app: send orders-9 o1", "no queue 'orders-9'; there are: orders-0"),
    (f"{R}\nrun app: listener COMMIT_MESSAGE", "expected listener EXECUTE CHECK"),
    (f"{R} consume_timeout_ms=x", "consume_timeout_ms='x': expected a whole number"),
    (f"{R}\nrun app: end PERHAPS o1", "no state 'PERHAPS'; there are: COMMIT_MESSAGE, "),
    (f"{R}\nrun app: listener UNKNOWN null", "no answer 'UNKNOWN'; did you mean UNKNOW?"),
    (f"{R}\nrun app: send orders-0 o1 delay=x", "delay=x: expected a whole number"),
    (f"{P}\nrun app: create-namespace orders-0", "no partition without a namespace 'orders-0'"),
    (f"{P}\nrun app: end-by-id commit 7/0", "'7/0' is no transaction of a coordinator"),
    (f"{P}\nrun app: recieve s", "no call 'recieve'; did you mean receive?"),
    (f"{P}\nrun app: end-by-id forget 0/0", "is not a call; expected end-by-id"),
    (f"{P}\nrun app: coordinator-stats 7", "those are: 0"),
    (f"{P}\nrun app: send orders-9 a", "no partition 'orders-9'; there are: orders-0"),
    (f"{P}\nrun app: subscribe orders-0 s type=Round", "type=Round"),
    (f"{P}\nrun app: subscribe orders-0 s dead_letter=orders-0", "max_redeliver=1 or more"),
    (f"{P}\nrun app: subscribe orders-0 s batch_index_ack=2", "batch_index_ack=2: expected 0 or 1"),
    (f"{P}\nrun app: reader orders-0 r type=Shared", "is not a call; expected reader"),
    (f"{P}\nrun app: ack s orders-0", "expected PARTITION@POSITION"),
    (f"{P}\nrun app: delete-ledger s", "no partition 's'"),
    (f"{P}\nrun app: delete-ledger orders-0 records=1", "records=1: of a pending-ack log, as in"),
    (f"{P}\nrun app: delete-ledger orders-0 s records=all", "records=all: expected a whole num"),
    ("system two_phase\nrun app: comit T1", "no call 'comit'; did you mean commit?"),
    ("system three_phase\nrun app: commit", "'commit' is not a call; expected commit TRANSACTION"),
    ("system saga\nrun app: strat T1", "did you mean start?"),
    ("system tcc\nrun app: oder T1", "did you mean order?"),
    ("system delivery\nrun shop: send 580538", "expected send NUMBER:PENCE"),
    ("system delivery\nrun shop: send 580538:-5", "expected send NUMBER:PENCE"),
    ("system delivery\nrun accounting: seek back", "'seek back' is not a call; expected seek OF"),
    ("system barriers\nrun jm: go", "no client 'jm' that takes calls; there is none here"),
    ("system micro_batches\nrun s1: go", "no client 's1' that takes calls; there is none here"),
    ("system message_transaction\nrun app: odrer T1", "did you mean order?"),
    ("system outbox\nrun app: order", "'order' is not a call; expected order TRANSACTION"),
    # as a student types it
    (f"{K} partitions = 1", "'partitions' in the system line: expected key=value without blanks"),
    (f"{K} partitions={'9' * 20}", "expected a whole number of at most 15 digits"),
    (f"{K}\nrun app: send orders-0 a bytes={'9' * 20}", "whole number of at most 15 digits"),
    (f"{K}\nat {'9' * 20}", "line 2: expected `at MILLISECONDS` or `at 15m`"),
    ("System kafka", "line 1: no command 'System'; did you mean system?"),
    ("system KAFKA", "line 1: no system 'KAFKA'; did you mean kafka?"),
    (f"{K}\noff LSO", "line 2: system kafka: no safeguard 'LSO'; did you mean lso?"),
    (f"{K}\nrun app: init，begin", "line 2: write `,` instead of `，`, or put quotation marks"),
    (f"{K}\nrun app: init, begin, send orders-0 a，commit", "line 2: write `,` instead of `，`"),
    (f"{K}\nrun app：init", "line 2: write `:` instead of `：`"),
    (f"{K}\nrun app: send orders-0 “a”", 'line 2: write `"` instead of `“`'),
    (f"{K} 'app=init；begin'", "line 1: system kafka: write `;` instead of `；`"),
    (f"{K}\nhold app→orders-0 Produce＃2", "line 2: write `#` instead of `＃`"),
    (f"{K}\nrun app: init # first", "line 2: a comment has a line of its own, above the command"),
    (f"{K}\noff lso #", "line 2: a comment has a line of its own"),
    (f"{K}\n----", "line 2: no command '----'; did you mean ---?"),
    (f"{K}\nhold app>orders-0 Produce", "not 'app>orders-0 Produce'; an arrow may be written ->"),
    (f"{K}\nhold coordinator→app ⇒InitProducerId\nrun app: init",
     "no ⇒InitProducerId#1 on coordinator→app; there was app→coordinator ⇒InitProducerId#1"),
    (f"{K}\nhold app→orders-0 Produce{SENT}\nrelease app→orders-0 Produce#2",
     "line 4: no line holds this message; held is: app→orders-0 Produce#1"),
    (f"{K} groups=1 readers=r\nrun r: subscribe g orders instance=a", "expected subscribe GROUP "),
    (f"{K} groups=1 admins=r\nrun r: delete-offsets g topic=orders",
     "line 2: 'topic=orders': this call has no such option"),
    (f"{K} groups=1 admins=r\nrun r: delete-group group=g", "'group=g': this call has no such"),
    (f"{K} groups=1 readers=r\nrun r: subscribe g orders auto_offset_reset=last",
     "line 2: no offset reset 'last'; did you mean latest?"),
    (f"{K} readers=r\nrun r: poll isolation=read_committed", "this call has no such option"),
    # commands, nodes, kinds, timers
    (f"{K}\nkil app", "line 2: no command 'kil'; did you mean kill?"),
    (f"{K}\nkill ap", "line 2: no node 'ap'; did you mean app?"),
    (f"{K}\nkill app\nkill app", "line 3: app cannot be stopped: it is not running"),
    (f"{K}\nrestart app", "line 2: app cannot be restarted: it is running"),
    (f"{K}\nkill app after=2", "expected `kill NODE` or `kill NODE when=Kind#n after=K answers="),
    (
        f"{K}\nkill coordinater when=EndTxn{SENT}",
        "no node 'coordinater'; did you mean coordinator?",
    ),
    (f"{K}\nbreak app", "line 2: expected `break A B`, not 'app'"),
    (f"{K}\nbreak nobody app", "line 2: no node 'nobody'"),
    (
        f"{K}{SENT}\nbreak orders-0 app",
        "orders-0 has no connection to app; possible: break app ",
    ),
    (f"{K}\npartition app", "expected `partition A,B | C`"),
    (f"{K}\npartition app | coordinatr", "no node 'coordinatr'; did you mean coordinator?"),
    (f"{K}\nat noon", "expected `at MILLISECONDS` or `at 15m`, not 'noon'"),
    (f"{K}\nat ²", "expected `at MILLISECONDS`"),
    (f"{K}\nclock app 1h", "expected `clock NODE +1h` or `clock NODE -200ms`, not 'app 1h'"),
    (f"{K}\nclock app +1w", "expected `clock NODE +1h`"),
    (f"{K}\nclock ap +1h", "line 2: no node 'ap'; did you mean app?"),
    (f"{K}\ndrop app", "expected `drop from→to Kind#n`, not 'app'"),
    (f"{K}\ndrop app→coordinator ⇒EndTxn", "line 2: a process drops requests only, not "),
    (f"{K}\ndrop app→coordinator EndTxn{SENT}", "waits in vain: no EndTxn#1 on app→coordinator"),
    (f"# One.\n# report: A-1\n# report: A-2\n{K}", "line 3: `report:` is there twice"),
    (f"{K}\nheal now", "expected `heal`, not 'now'"),
    (f"{K}\nhold app orders-0", "expected `hold from→to Kind#n`"),
    (f"{K}\nrelease app→orders-0 Produce", "no line holds this message"),
    (f"{K}\nhold ap→orders-0 Produce", "no node 'ap'; did you mean app?"),
    (f"{K}\nhold app→orders-0 Prodce{SENT}",
     "line 2 waits in vain: no Prodce#1 on app→orders-0; there was Produce#1"),
    (f"{K}\nkill coordinator when=Market{SENT}",
     "line 2 waits in vain: no step of coordinator emits"),
    (f"{K}\nrun app: init\nlate app→orders-0 Produce", "Produce#1 on app→orders-0; there was no"),
    (f"{R}\nhold app→db put\nrun app: send-in-transaction orders-0 o1", "there was Statement#1"),
    (f"{K}{SENT}\nkill app\nrun app: commit", "line 4 waits in vain: app is down; restart app"),
    (f"{K}{SENT}\nfire app retry", "app has no timer now; there are: fire coordinator timeout "),
    (
        f"{K}{SENT}\nfire coordinator timeout",
        "no timer 'timeout' of coordinator now; there are: timeout order-service",
    ),
    (f"{K}\nfire", "expected `fire NODE` or `fire NODE TIMER`"),
    *((f"{K}\ndo {it}", f"{it!r} is not a choice: expected `call NODE`") for it in (
        "jump app", "lose app<coordinator", "drop app>coordinator+1", "kill app coordinator",
        "break app")),
    (f"{K}\ndo call nobody", "no node 'nobody'"),
    (f"{K}\ndo break app nobody", "no node 'nobody'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_input_is_one_sentence(text: str, words: str, tmp_path: Path, capsys) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(text)
    assert words in str(error.value)
    assert re.match(r"line \d|no line `system", str(error.value))
    with speaking("zh"), pytest.raises(ScenarioError) as chinese:
        scenario(text)
    with speaking("zh"):
        said = str(chinese.value)
    assert not re.search(r"\b(?:expected|there|which|write|must|is no|takes)\b", said), said
    file = tmp_path / "story.scn"
    file.write_text(text, "utf-8")
    for command in (["run"], ["view", "-o", str(tmp_path / "page.html")]):
        assert main([*command, str(file)]) != 0
        said = capsys.readouterr().err
        assert words in said and str(file) in said and len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'{K}\r\nrun app:\tinit, begin, send orders-0 "a，b # c"\r\n', '"a，b # c": ok'),
        (f"\ufeff{K}{SENT}", "send orders-0 a: ok"),
        (f"{K}{SENT}; commit", "commit: ok"),
        (f"{K}\nhold app -> orders-0 Produce #1{SENT}\nrelease app→orders-0 Produce", "ok @0"),
        (f"{K} timeout_ms=2000{SENT}\nat 1m\nat 60000\nfire coordinator", "CompleteAbort"),
    ],
)
def test_what_a_student_types_otherwise_is_read_all_the_same(text: str, told: str) -> None:
    assert told in scenario(text).narrate()


@pytest.mark.parametrize(
    ("lines", "numbers"),
    [
        ("kil app\nrun app: init\nhold app\n\nat soon", [2, 4, 6]),
        ("run app: comit\nrun ap: init\nfire nobody\nkill app\nrestart coordinatr", [2, 3, 4, 6]),
        ("foo\n" * 40, [*range(2, 12)]),
    ],
)
def test_all_mistakes_of_a_file_are_told_at_once(lines: str, numbers: list[int]) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario(f"{K}\n{lines}")
    told = str(error.value).splitlines()
    assert [int(n) for one in told for n in re.findall(r"^line (\d+): ", one)] == numbers
    assert len(numbers) < 10 or told[-1] == "and 30 more"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["explore", "kafka", "producers=app:- client=legacy; app=send orders-0 a"], NOT_A_NAME),
        (["explore", "rocketmq", "consumers=shop app=consume"], NOT_A_NAME),
        (["explore", "kafka", "app=subscribe g orders"], "this system has no group 'g'"),
        (["explore", "kafka", "app=comit"], "no call 'comit'; did you mean commit?"),
        (["explore", "kafak"], "no system 'kafak'; did you mean kafka?"),
        (
            ["explore", "kafka", "app=init", "--killable", "coordinater"],
            "did you mean coordinator?",
        ),
        (["explore", "kafka", "--claim", "torn-raed"], "did you mean torn-read?"),
        (["run", "nowhere.scn"], "no file nowhere.scn: give a .scn file, or the name of a sc"),
        (["view", "nowhere.scn"], "no file nowhere.scn"),
        (["explore", "kafka", "--off", "gravity"], "no safeguard 'gravity'"),
        (["run", "torn-reed"], "did you mean kafka/torn-read?"),
        (["view", "kafka/torn-reed.scn"], "did you mean kafka/torn-read?"),
        (["open", "nonsense"], "this is not a token"),
    ],
)
def test_a_command_says_it_in_one_line(words: list[str], says: str, capsys) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert says in said and len(said.splitlines()) == 1


def test_a_search_in_which_nobody_calls_anything_says_so(capsys) -> None:
    assert main(["explore", "kafka partitions=1"]) == 1, "nothing is ever reached"
    assert "nobody calls anything here: give a client its calls, as in 'app=" in (
        capsys.readouterr().out
    )
    main(["explore", "kafka", "partitions=1", "app=init"])
    assert "nobody calls" not in capsys.readouterr().out


def test_lines_off_add_up() -> None:
    assert system("kafka off=lso off=verification") == system("kafka off=verification,lso")


def test_what_is_no_file_is_passed_over_or_refused(tmp_path: Path, capsys) -> None:
    os.mkfifo(tmp_path / "pipe.scn")
    assert main(["run", str(tmp_path)]) == 2
    assert "no .scn file in" in capsys.readouterr().err
    os.mkfifo(tmp_path / "coordinator.py")
    assert main(["build", "check", str(tmp_path / "coordinator.py")]) == 2
    assert "cannot read" in capsys.readouterr().err


# ---- values of several words ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("kafka partitions=1 producers=app:-",
         ('send orders-0 "a b; c, d" key="k 1"', """send orders-0 '{"id": 1}'""")),
        ("rocketmq early=on", ('send orders-0 "o 1" property="note:it\'s so"', "send orders-0 o2")),
        ("pulsar", ("""send orders-0 "a b" 'c "d"' "txn=t" sequence=3""",)),
    ],
)  # fmt: skip
def test_a_value_of_several_words_is_told_as_it_is_written(line, calls) -> None:
    told = scenario(f"system {line}\nrun app: {', '.join(calls)}")
    assert all(f"{call}: ok" in told.narrate() for call in calls)
    given = scenario(f"system {line} app={shlex.quote('; '.join(calls))}\nheal")
    assert given.narrate() == told.narrate()
    made = system(given.system)
    assert tuple(map(str, made.nodes()[0].program)) == calls and made.line() == given.system
    again = scenario(f"system {line}\n" + "\n".join(f"do {choice}" for choice in told.choices))
    assert again.narrate() == told.narrate()
    play, note = reopen_run(encode(system(told.system), told))
    assert play.trace.narrate() == told.narrate() and not note.en


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{K} admins=admin\nrun admin: elect orders-0 1", "an administrator has no such call; re"),
        (f"{K} readers=r\nrun r: init", "a consumer has no such call; readers=, admins=, produ"),
        (f"{K}\nrun app: poll orders-0", "a producer has no such call; readers=, admins=, produc"),
        (f"{K}\nrun app: init-producer-id", "no transaction in UNINITIALIZED"),
        (f"{K}\nrun app: init, resume-transaction 0 1", "READY: only in place of init"),
        (f"{R}\nrun app: consume", "a producer has no such call; consumers= have"),
        (f"{R}\nrun shop: send orders-0 a", "a consumer has no such call; producers= have"),
        (f"{P}\nrun app: subscribe orders-0 s, nack s orders-0@0", "failed none of these was rec"),
    ],
)
def test_a_call_at_a_wrong_place_fails_with_advice(text: str, says: str) -> None:
    assert says in scenario(text).narrate()


def test_a_timer_is_named_after_its_value_however_many_blanks_it_has() -> None:
    line = f"{K} partitions=1 producers=app:- delivery_timeout_ms=3000\nhold app→orders-0 Produce\n"
    told = scenario(f'{line}run app: send orders-0 "a  b c"\nfire app delivery orders-0 a  b c')
    assert "timer delivery orders-0 a  b c" in told.narrate()
    assert parse(told.choices[-1]).b == "delivery orders-0 a  b c"


# ---- what still waits ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "waits", "chinese"),
    [
        (f"{K} partitions=1{SENT}\nkill coordinator\nrun app: commit",
         "still waits: commit of app, for an answer; app→coordinator EndTxn#1, for coordinator, "
         "which is dead (`restart coordinator`)",
         "仍在等待：app 的 commit，等待应答；app→coordinator EndTxn#1，等待已停止的 coordinator"),
        (f"{K} partitions=1\nhold app→orders-0 Produce{SENT}, commit",
         "commit of app, for an answer; app→orders-0 Produce#1, "
         "for `release app→orders-0 Produce#1`",
         "等待 `release app→orders-0 Produce#1`"),
        (f"{K} partitions=1\npartition app | coordinator\nrun app: init",
         "init of app, for an answer; app→coordinator InitProducerId#1, for `heal`",
         "等待 `heal`"),
        (f"{K} partitions=1{SENT}, commit", "", ""),
        (f"{K} partitions=1\ndrop app→coordinator InitProducerId\nrun app: init",
         "still waits: init of app, for an answer or for a broken connection "
         "(`break app coordinator`)",
         "仍在等待：app 的 init，等待应答或连接断开（`break app coordinator`）"),
        # the heartbeat of `one` is no help: it is another member that must join again
        (f"{K} partitions=1 groups=1 readers=one,two\nrun one: subscribe g orders, poll\n"
         "run two: subscribe g orders\nfire __consumer_offsets-0 session/g/one-1\n"
         "run one: commit-offsets g, poll",
         "or for a timer (`fire one heartbeat`, `fire __consumer_offsets-0 session/g/two-2`, "
         "`fire __consumer_offsets-0 session/g/one-3`, `fire __consumer_offsets-0 join/g`, "
         "`fire two heartbeat`)",
         "`fire __consumer_offsets-0 join/g`"),
        (f"{K} partitions=1\ndo run app init\ndo call app", "", ""),
    ],
)  # fmt: skip
def test_a_run_ends_with_what_still_waits(text, waits, chinese, tmp_path, capsys) -> None:
    file = tmp_path / "story.scn"
    file.write_text(text, "utf-8")
    for lang, words in (("en", waits), ("zh", chinese)):
        assert main(["run", "--lang", lang, str(file)]) == 0
        said = capsys.readouterr().out
        assert words in said and bool(words) == ("still waits" in said or "仍在等待" in said)
    assert main(["run", "--rewrite", str(file)]) == 0
    assert "still waits" not in file.read_text("utf-8")


# ---- committed stories, damaged -------------------------------------------------------------

ODD = ["", "0", "-1", "²", "9" * 20, "=", "a=", "=b", ",", ";", ":", "'", "orders-0@", "#", "→",
       "⇒", "{}", "nobody", "\x1b[2J", "|", "kill=1", "when=X", "after=3", "answers=app",
       "readers=a,b", "groups=1",
       "producers=app:-,app:x", "partitions=0", "replicas=2", "off=lso"]  # fmt: skip


def damage(lines: list[str], luck: random.Random, words: list[str]) -> str:
    """Some words dropped, doubled, misspelt or replaced, or lines dropped, doubled or moved."""
    for _ in range(luck.choice([1, 1, 2, 3])):
        at = luck.randrange(len(lines))
        line = lines.pop(at)
        parts = line.split(" ")
        word = luck.randrange(len(parts))
        place = luck.randrange(len(parts[word]) + 1)
        match luck.randrange(7):
            case 0:
                parts[word : word + 1] = []
            case 1:
                parts.insert(word, parts[word])
            case 2:
                parts[word] = parts[word][:place] + luck.choice("x0,=-") + parts[word][place + 1 :]
            case 3:
                parts[word] = parts[word][:place] + parts[word][place + 1 :]
            case 4:
                parts[word] = luck.choice([*ODD, *words])
            case 5:
                lines.insert(luck.randrange(len(lines) + 1), line)
        lines.insert(at, " ".join(parts))
    return "\n".join(lines)


def test_a_damaged_story_runs_or_is_refused_in_a_sentence_for_each_line() -> None:
    luck = random.Random(37)
    files = luck.sample(sorted(FOLDER.rglob("*.scn")), 60)
    stories = [
        [line for b in split_blocks(f.read_text("utf-8")) for line in b.source.splitlines()]
        for f in files
    ]
    short = [[line for line in story if line and line[0] != "#"] for story in stories]
    words = [word for story in short for line in story for word in line.split()][::7]
    ran = refused = 0
    for story in [one for one in short if len(one) < 12] * 5:
        try:
            scenario(damage(list(story), luck, words))
            ran += 1
        except ScenarioError as error:
            refused += 1
            for one in str(error).splitlines():
                assert re.match(r"line \d+|no line |and \d+ more", one), one
            assert "invalid literal" not in str(error)
    assert ran > 5 and refused > 50
