%% start PORT term|ets: tells where a path leads.
-module(routes).
-export([start/1]).

start([Port, Store]) ->
    Table = maps:from_list([{N, {route, N, "backend " ++ integer_to_list(N rem 100), [get, post]}}
                            || N <- lists:seq(0, 59999)]),
    Lookup = case Store of
        "term" ->
            persistent_term:put(routes, Table),
            fun() -> persistent_term:get(routes) end;
        "ets" ->
            ets:new(routes, [named_table, public, {read_concurrency, true}]),
            ets:insert(routes, {routes, Table}),
            fun() -> [{routes, Found}] = ets:lookup(routes, routes), Found end
    end,
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port), [binary, {ip, {127, 0, 0, 1}}, {active, false},
                                                            {packet, http_bin}, {backlog, 128}, {reuseaddr, true}]),
    accept(Listener, Lookup).

accept(Listener, Lookup) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Worker = spawn(fun() -> receive go -> serve(Socket, Lookup) end end),
    ok = gen_tcp:controlling_process(Socket, Worker),
    Worker ! go,
    accept(Listener, Lookup).

serve(Socket, Lookup) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_request, 'GET', {abs_path, <<"/", Number/binary>>}, _}} ->
            skip_headers(Socket),
            {route, _, Backend, _} = maps:get(number(Number) rem 60000, Lookup()),
            Body = [Backend, "\n"],
            gen_tcp:send(Socket, ["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ",
                                  integer_to_list(iolist_size(Body)), "\r\n\r\n", Body]),
            gen_tcp:close(Socket);
        _ ->
            gen_tcp:close(Socket)
    end.

number(<<>>) -> 0;
number(Number) -> binary_to_integer(Number).

skip_headers(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} -> ok;
        {ok, _} -> skip_headers(Socket)
    end.
