%% main [PORT, KEEP]: a server with many sessions counts who visits which page.
-module(visits).
-export([main/1]).

main([Port, Keep]) ->
    ets:new(visits, [named_table, public]),
    keep(Keep, #{}),
    [spawn(fun() -> session([{Number, Line, "basket"} || Line <- lists:seq(1, 150)]) end)
        || Number <- lists:seq(1, 60000)],
    {ok, Listener} = gen_tcp:listen(list_to_integer(atom_to_list(Port)),
        [binary, {packet, http_bin}, {active, false}, {reuseaddr, true}, {ip, {127, 0, 0, 1}}, {backlog, 128}]),
    accept(Listener, Keep).

session(Basket) -> receive stop -> Basket end.

keep(ets, Visits) -> ets:insert(visits, {all, Visits});
keep(persistent_term, Visits) -> persistent_term:put(visits, Visits).

kept(ets) -> [{all, Visits}] = ets:lookup(visits, all), Visits;
kept(persistent_term) -> persistent_term:get(visits).

accept(Listener, Keep) ->
    {ok, Connection} = gen_tcp:accept(Listener),
    Child = spawn(fun() -> receive go -> serve(Connection, Keep) end end),
    ok = gen_tcp:controlling_process(Connection, Child),
    Child ! go,
    accept(Listener, Keep).

serve(Connection, Keep) ->
    case gen_tcp:recv(Connection, 0) of
        {ok, http_eoh} ->
            Page = erlang:unique_integer([positive]) rem 100,
            Visits = maps:update_with(Page, fun(Count) -> Count + 1 end, 1, kept(Keep)),
            keep(Keep, Visits),
            Body = iolist_to_binary(io_lib:format("~b visits~n", [maps:get(Page, Visits)])),
            Head = io_lib:format("HTTP/1.1 200 OK\r\nContent-Length: ~b\r\n\r\n", [byte_size(Body)]),
            ok = gen_tcp:send(Connection, [Head, Body]),
            serve(Connection, Keep);
        {ok, _} -> serve(Connection, Keep);
        {error, _} -> gen_tcp:close(Connection)
    end.
